//! A thread that runs a task at an interval.

use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    time::Duration,
};

use foreseal_chain::Clock;

/// Thread that runs a task at once and then at an interval, until this value is dropped. Nothing waits for the run in
/// progress, which may be a call to another machine.
pub(crate) struct IntervalThread {
    _stop: Option<Sender<()>>,
}

impl IntervalThread {
    /// Starts the thread. If that fails, the failure is logged, and the task does not run.
    pub fn start(
        name: &str,
        interval: Duration,
        clock: Arc<dyn Clock>,
        mut task: impl FnMut() + Send + 'static,
    ) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let run = move || {
            loop {
                task();
                if stopped.recv_timeout(clock.real(interval)) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        if let Err(error) = &thread {
            tracing::warn!(%error, name, "cannot start a thread");
        }
        Self { _stop: thread.is_ok().then_some(stop) }
    }
}

#[cfg(test)]
mod tests {
    use foreseal_chain::SystemClock;

    use super::*;

    #[test]
    fn the_task_repeats_and_ends_with_the_value() {
        let (runs, counted) = mpsc::channel();
        let task = move || {
            let _ = runs.send(());
        };
        let thread =
            IntervalThread::start("test", Duration::from_millis(1), Arc::new(SystemClock::default()), task);
        for _ in 0..3 {
            counted.recv().unwrap();
        }
        drop(thread);
        // The thread drops the task, and with it the sender.
        while counted.recv().is_ok() {}
    }
}
