//! How much a caller may ask.

/// Longest time, us, that an empty bucket may take to fill, about two years: with the clock it fits a slot.
pub const MOST_SPAN: u64 = 1 << 46;

/// One token every `interval` us, `burst` tokens at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    interval: u64,
    span: u64,
}

impl Quota {
    /// `None` where one of the two is 0, or an empty bucket would take longer than [`MOST_SPAN`] to fill.
    pub fn new(interval: u64, burst: u64) -> Option<Self> {
        let span = interval.checked_mul(burst).filter(|span| (1..=MOST_SPAN).contains(span))?;
        Some(Self { interval, span })
    }

    /// Time that an empty bucket takes to fill, us.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Time that `cost` tokens take to come, us. What costs more than the whole burst costs the whole burst: else it
    /// would never be let through.
    pub fn worth(&self, cost: u64) -> u64 {
        self.interval.saturating_mul(cost).min(self.span)
    }
}
