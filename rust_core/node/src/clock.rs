//! Time, passed in.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
