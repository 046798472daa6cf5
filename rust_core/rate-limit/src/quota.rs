//! Request quota of a caller.

/// Longest time, in us, that an empty bucket may take to fill: about two years. Added to the clock, it still
/// fits the time field of a slot.
pub const MAX_WINDOW: u64 = 1 << 46;

/// Quota of one token every `interval` us, with at most `burst` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    interval: u64,
    window: u64,
}

impl Quota {
    /// Creates a quota. Returns `None` if either argument is 0, or if an empty bucket would take longer than
    /// [`MAX_WINDOW`] to fill.
    pub fn new(interval: u64, burst: u64) -> Option<Self> {
        let window = interval.checked_mul(burst).filter(|span| (1..=MAX_WINDOW).contains(span))?;
        Some(Self { interval, window })
    }

    /// Returns the time in us that an empty bucket takes to fill.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the time in us in which `cost` tokens are added.
    ///
    /// A cost above the burst counts as the whole burst; otherwise the call could never be admitted.
    pub fn refill_time(&self, cost: u64) -> u64 {
        self.interval.saturating_mul(cost).min(self.window)
    }
}
