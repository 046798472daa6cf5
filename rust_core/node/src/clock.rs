//! Time, passed in.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Time since the Unix epoch; may jump, also backwards.
    pub unix: Duration,
    /// Time since some fixed moment; only ever grows.
    pub monotonic: Duration,
}

impl Now {
    /// The same moment by a wall clock that is `offset` milliseconds ahead.
    #[must_use]
    pub fn shifted(self, offset: i64) -> Self {
        let by = Duration::from_millis(offset.unsigned_abs());
        let unix = if offset < 0 { self.unix.saturating_sub(by) } else { self.unix.saturating_add(by) };
        Self { unix, ..self }
    }
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Reads both clocks.
    fn now(&self) -> Now;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { unix, monotonic: self.0.elapsed() }
    }
}

/// Clocks that stand still until their owner moves them, both together: for [`Node::start_stepped`](crate::Node::start_stepped).
#[derive(Debug)]
pub struct SteppedClock {
    /// Time since the Unix epoch at which they began.
    start: Duration,
    /// Milliseconds.
    elapsed: AtomicU64,
}

impl SteppedClock {
    /// Clocks that begin so long after the Unix epoch.
    pub fn starting_at(start: Duration) -> Self {
        Self { start, elapsed: AtomicU64::new(0) }
    }

    /// Moves them on, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        self.elapsed.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// How far they were moved.
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed.load(Ordering::SeqCst))
    }
}

impl Default for SteppedClock {
    /// Begins a million seconds after the Unix epoch.
    fn default() -> Self {
        Self::starting_at(Duration::from_secs(1_000_000))
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> Now {
        let elapsed = self.elapsed();
        Now { unix: self.start.saturating_add(elapsed), monotonic: elapsed }
    }
}
