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

    /// How long the machine takes for `wait` by these clocks.
    fn real(&self, wait: Duration) -> Duration {
        wait
    }

    /// Reads the monotonic one alone.
    fn monotonic(&self) -> Duration {
        self.now().monotonic
    }
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

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Clocks that begin with the machine's and run several times as fast: a day in minutes, to see what a day leaves behind.
#[derive(Debug)]
pub struct FastClock {
    begun: Instant,
    start: Duration,
    speed: u32,
}

impl FastClock {
    /// Clocks that are `speed` times as fast as the machine's; 0 counts as 1.
    pub fn new(speed: u32) -> Self {
        let start = SystemClock::default().now().unix;
        Self { begun: Instant::now(), start, speed: speed.max(1) }
    }
}

impl Clock for FastClock {
    fn now(&self) -> Now {
        let elapsed = self.begun.elapsed().saturating_mul(self.speed);
        Now { unix: self.start.saturating_add(elapsed), monotonic: elapsed }
    }

    fn real(&self, wait: Duration) -> Duration {
        wait / self.speed
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_gains_on_the_machine_and_waits_less() {
        let clock = FastClock::new(1000);
        let begun = clock.now();
        std::thread::sleep(Duration::from_millis(5));
        let now = clock.now();
        assert!(now.monotonic.saturating_sub(begun.monotonic) >= Duration::from_secs(5));
        assert_eq!(now.unix.saturating_sub(begun.unix), now.monotonic.saturating_sub(begun.monotonic));
        assert_eq!(clock.real(Duration::from_secs(2)), Duration::from_millis(2));
        assert_eq!(FastClock::new(0).real(Duration::from_secs(2)), Duration::from_secs(2));
    }
}
