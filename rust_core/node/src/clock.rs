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
