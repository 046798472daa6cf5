//! Beats while a tick takes long, so that no standby takes the chain over from a leader that works.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use foreseal_replication::quorum::BeatSender;
use parking_lot::Mutex;

use crate::shared_state::SharedState;

/// Interval between beats during a tick.
const BEAT_INTERVAL: Duration = Duration::from_millis(200);
/// Time after which a tick counts as stuck: a standby may take over then.
const MAX_TICK: Duration = Duration::from_secs(10);

/// Thread that beats while a tick takes long. It ends with the node.
pub(crate) struct BusyBeat {
    /// Monotonic time of the begin of the tick, in microseconds; negative between ticks.
    since: Arc<AtomicI64>,
    thread: Option<JoinHandle<()>>,
}

impl BusyBeat {
    /// Starts the thread. Without it, only the ticks beat.
    pub fn start(beats: Arc<Mutex<Option<BeatSender>>>, shared: Arc<SharedState>) -> Self {
        let since = Arc::new(AtomicI64::new(-1));
        let seen = since.clone();
        let run = move || {
            while !shared.stopping() {
                shared.sleep(BEAT_INTERVAL);
                let Ok(began) = u64::try_from(seen.load(Ordering::Acquire)) else { continue };
                let busy = shared.clock.monotonic().saturating_sub(Duration::from_micros(began));
                if busy < BEAT_INTERVAL || busy > MAX_TICK {
                    continue;
                }
                if let Some(Err(error)) = beats.lock().as_mut().map(BeatSender::beat) {
                    // The append in progress finds out whether the ownership is lost.
                    tracing::debug!(%error, "a beat during a long tick failed");
                }
            }
        };
        let thread = std::thread::Builder::new().name("foreseal-beat".to_owned()).spawn(run);
        if let Err(error) = &thread {
            tracing::warn!(%error, "cannot start the thread that beats during long ticks");
        }
        Self { since, thread: thread.ok() }
    }

    /// Runs a tick that begins at `now`.
    pub fn during<T>(&self, now: Duration, tick: impl FnOnce() -> T) -> T {
        self.since.store(i64::try_from(now.as_micros()).unwrap_or(i64::MAX), Ordering::Release);
        let done = tick();
        self.since.store(-1, Ordering::Release);
        done
    }
}

impl Drop for BusyBeat {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
