//! Clocks that are passed in.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Reading of both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Time since the Unix epoch; may jump, also backwards.
    pub unix: Duration,
    /// Time since a fixed moment; never decreases.
    pub monotonic: Duration,
}

impl ClockReading {
    /// Returns the same moment on a wall clock that is `offset` milliseconds ahead.
    #[must_use]
    pub fn shifted(self, offset: i64) -> Self {
        let by = Duration::from_millis(offset.unsigned_abs());
        let unix = if offset < 0 { self.unix.saturating_sub(by) } else { self.unix.saturating_add(by) };
        Self { unix, ..self }
    }
}

/// Source of time.
pub trait Clock: Send + Sync {
    /// Reads both clocks.
    fn now(&self) -> ClockReading;

    /// Returns the real time that corresponds to `wait` on these clocks.
    fn real(&self, wait: Duration) -> Duration {
        wait
    }

    /// Reads the monotonic clock alone.
    fn monotonic(&self) -> Duration {
        self.now().monotonic
    }
}

/// Clocks of the machine.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> ClockReading {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        ClockReading { unix, monotonic: self.0.elapsed() }
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Clocks that start with those of the machine and run faster by a factor. A simulated day passes in minutes,
/// which shows the long-term effects of operation.
#[derive(Debug)]
pub struct FastClock {
    begun: Instant,
    start: Duration,
    speed: u32,
}

impl FastClock {
    /// Creates clocks that are `speed` times as fast as the machine's; 0 counts as 1.
    pub fn new(speed: u32) -> Self {
        let start = SystemClock::default().now().unix;
        Self { begun: Instant::now(), start, speed: speed.max(1) }
    }
}

impl Clock for FastClock {
    fn now(&self) -> ClockReading {
        let elapsed = self.begun.elapsed().saturating_mul(self.speed);
        ClockReading { unix: self.start.saturating_add(elapsed), monotonic: elapsed }
    }

    fn real(&self, wait: Duration) -> Duration {
        wait / self.speed
    }
}

/// Clocks that stand still until their owner advances both together; the wall clock may jump.
#[derive(Debug)]
pub struct SteppedClock {
    /// Start of the clocks, as time since the Unix epoch.
    start: Duration,
    /// Time advanced so far, in milliseconds.
    elapsed: AtomicU64,
    /// Milliseconds by which the wall clock has jumped.
    jumped: AtomicI64,
}

impl SteppedClock {
    /// Creates clocks that start at this time since the Unix epoch.
    pub fn starting_at(start: Duration) -> Self {
        Self { start, elapsed: AtomicU64::new(0), jumped: AtomicI64::new(0) }
    }

    /// Advances both clocks, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        self.elapsed.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Sets the wall clock forward or back by `ms` milliseconds, while the monotonic clock stands still.
    pub fn jump(&self, ms: i64) {
        self.jumped.fetch_add(ms, Ordering::SeqCst);
    }

    /// Returns the time advanced so far.
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed.load(Ordering::SeqCst))
    }
}

impl Default for SteppedClock {
    /// Creates clocks that start a million seconds after the Unix epoch.
    fn default() -> Self {
        Self::starting_at(Duration::from_secs(1_000_000))
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> ClockReading {
        let elapsed = self.elapsed();
        let reading = ClockReading { unix: self.start.saturating_add(elapsed), monotonic: elapsed };
        reading.shifted(self.jumped.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_runs_ahead_and_waits_less() {
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
