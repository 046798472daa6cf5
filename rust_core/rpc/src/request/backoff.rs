//! Adaptive backoff of work that recently exceeded the time of an attempt.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Exponential backoff of a method, or of batches: one attempt is skipped after the first one that exceeded the
/// budget, twice as many after each further one.
#[derive(Debug, Default)]
pub struct AdaptiveBackoff {
    /// Number of attempts still to be skipped.
    left: AtomicU32,
    /// Number of attempts skipped the last time.
    width: AtomicU32,
}

impl AdaptiveBackoff {
    /// Most attempts skipped in a row.
    const MAX_SKIPPED: u32 = 64;

    /// Returns `true` if the next attempt may run; counts those that are skipped.
    pub fn admits(&self) -> bool {
        let left = self.left.load(Relaxed);
        if left > 0 {
            self.left.store(left - 1, Relaxed);
        }
        left == 0
    }

    /// Records an attempt within the budget.
    pub fn record_fast(&self) {
        self.width.store(0, Relaxed);
    }

    /// Records an attempt that exceeded the budget.
    pub fn record_slow(&self) {
        let width = (2 * self.width.load(Relaxed)).clamp(1, Self::MAX_SKIPPED);
        self.width.store(width, Relaxed);
        self.left.store(width, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of attempts that are skipped before the next one runs.
    fn skipped(backoff: &AdaptiveBackoff) -> usize {
        (0..1000).take_while(|_| !backoff.admits()).count()
    }

    #[test]
    fn each_long_attempt_doubles_the_pause_up_to_the_limit() {
        let backoff = AdaptiveBackoff::default();
        for expected in [0, 1, 2, 4, 8, 16, 32, 64, 64] {
            assert_eq!(skipped(&backoff), expected);
            backoff.record_slow();
        }
    }

    #[test]
    fn a_short_attempt_resets_the_pause() {
        let backoff = AdaptiveBackoff::default();
        backoff.record_slow();
        backoff.record_slow();
        assert_eq!(skipped(&backoff), 2);
        backoff.record_fast();
        backoff.record_slow();
        assert_eq!(skipped(&backoff), 1);
    }
}
