//! Processor time that a caller may use.

use crate::MOST_SPAN;

/// Largest rate, milliseconds of processor time a second.
pub const MAX_CPU_RATE: u64 = 1_000_000;
/// Longest time, us, that a bucket in debt stays empty.
const MAX_DEBT: u64 = 30_000_000;

/// A rate of processor time and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// Milliseconds of processor time a second.
    rate: u64,
    span: u64,
}

impl CpuQuota {
    /// Returns the quota of `rate` milliseconds of processor time a second and `burst` milliseconds at once; `None` where one
    /// of the two is 0, the rate is beyond [`MAX_CPU_RATE`], or an empty bucket would take too long to fill.
    pub fn new(rate: u64, burst: u64) -> Option<Self> {
        if !(1..=MAX_CPU_RATE).contains(&rate) {
            return None;
        }
        let span = burst.checked_mul(1_000_000)?.checked_div(rate)?;
        (1..=MOST_SPAN).contains(&span).then_some(Self { rate, span })
    }

    /// Returns the time that an empty bucket takes to fill, us.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Returns the time that so much processor time, us, takes to come back, us.
    pub fn worth(&self, used: u64) -> u64 {
        used.saturating_mul(1_000) / self.rate
    }

    /// Returns the latest time at which a bucket is full again, us from now.
    pub(crate) fn limit(&self) -> u64 {
        self.span + MAX_DEBT
    }
}
