//! Beats while a tick takes long, so that no standby takes the chain over from a leader that works.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use foreseal_chain::Clock;
use foreseal_quorum::{BEAT_INTERVAL, BeatSender};
use parking_lot::Mutex;

use crate::cluster::interval_thread::IntervalThread;

/// Time after which a tick counts as stuck: a standby may take over then.
const MAX_TICK: Duration = Duration::from_secs(10);

/// Thread that beats while a tick takes long. Without it, only the ticks beat.
pub(crate) struct BusyBeat {
    /// Monotonic time of the begin of the tick, in microseconds; negative between ticks.
    since: Arc<AtomicI64>,
    _thread: IntervalThread,
}

impl BusyBeat {
    /// Starts the thread.
    pub fn start(beats: Arc<Mutex<Option<BeatSender>>>, clock: Arc<dyn Clock>) -> Self {
        let since = Arc::new(AtomicI64::new(-1));
        let (seen, now) = (since.clone(), clock.clone());
        let task = move || {
            let Ok(began) = u64::try_from(seen.load(Ordering::Acquire)) else { return };
            let busy = now.monotonic().saturating_sub(Duration::from_micros(began));
            if busy < BEAT_INTERVAL || busy > MAX_TICK {
                return;
            }
            if let Some(Err(error)) = beats.lock().as_mut().map(BeatSender::beat) {
                // The append in progress finds out whether the ownership is lost.
                tracing::debug!(%error, "a beat during a long tick failed");
            }
        };
        let thread = IntervalThread::start("foreseal-beat", BEAT_INTERVAL, clock, task);
        Self { since, _thread: thread }
    }

    /// Runs a tick that begins at `now`.
    pub fn during<T>(&self, now: Duration, tick: impl FnOnce() -> T) -> T {
        self.since.store(i64::try_from(now.as_micros()).unwrap_or(i64::MAX), Ordering::Release);
        let done = tick();
        self.since.store(-1, Ordering::Release);
        done
    }
}
