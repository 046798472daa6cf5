//! Processor-time quota of a caller.

use crate::quota::MAX_WINDOW;

/// Maximum rate, in milliseconds of processor time per second.
pub const MAX_CPU_RATE: u64 = 1_000_000;
/// Longest time, in us, that a bucket in debt stays empty.
const MAX_DEBT: u64 = 30_000_000;

/// Rate and burst of processor time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// Milliseconds of processor time per second.
    rate: u64,
    window: u64,
}

impl CpuQuota {
    /// Creates a quota of `rate` milliseconds of processor time per second and a burst of `burst`
    /// milliseconds.
    ///
    /// Returns `None` if either is 0, if `rate` exceeds [`MAX_CPU_RATE`], or if an empty bucket would take
    /// longer than [`MAX_WINDOW`](crate::MAX_WINDOW) to fill.
    pub fn new(rate: u64, burst: u64) -> Option<Self> {
        if !(1..=MAX_CPU_RATE).contains(&rate) {
            return None;
        }
        let window = burst.checked_mul(1_000_000)?.checked_div(rate)?;
        (1..=MAX_WINDOW).contains(&window).then_some(Self { rate, window })
    }

    /// Returns the time in us that an empty bucket takes to fill.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the time in us that the bucket takes to regain `used` us of processor time.
    pub fn refill_time(&self, used: u64) -> u64 {
        used.saturating_mul(1_000) / self.rate
    }

    /// Returns the maximum distance, in us from now, of the time at which a bucket is full again.
    pub(crate) fn limit(&self) -> u64 {
        self.window + MAX_DEBT
    }
}
