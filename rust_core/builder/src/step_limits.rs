//! Limits of one step.

use std::time::Duration;

/// Part of a block that its steps may use so far.
///
/// A full block keeps room for the transactions that arrive while it is built: its gas, blob gas and bytes become
/// available with the time that passes. The last step may use everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShare {
    /// Microseconds of the block up to the next step.
    elapsed: u64,
    /// Microseconds of one step.
    step: u64,
    /// Microseconds of the block; at least 1.
    block: u64,
}

impl BlockShare {
    /// The whole block in one step.
    pub const ALL: Self = Self { elapsed: 1, step: 1, block: 1 };

    /// Returns the share of a step that is made `left` before the block is due.
    pub fn of_step(left: Duration, step: Duration, block: Duration) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (left, step, block) = (micros(left), micros(step), micros(block));
        // No other step follows before the block is sealed.
        if left <= step || block <= step {
            return Self::ALL;
        }
        Self { elapsed: block.saturating_sub(left).saturating_add(step).min(block), step, block }
    }

    /// Returns the part of a limit that all steps up to this one may use.
    fn so_far(self, limit: u64) -> u64 {
        scaled(limit, self.elapsed, self.block)
    }

    /// Returns the part of a limit that one step brings.
    fn one_step(self, limit: u64) -> u64 {
        scaled(limit, self.step, self.block)
    }
}

fn scaled(limit: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(limit) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX).min(limit)
}

/// Limits of one step, besides those of its block. They decide when a transaction is included, never its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLimits {
    pub share: BlockShare,
    /// Maximum size of the step's transactions and receipts as JSON, in bytes, unless a single transaction exceeds it.
    pub result_bytes: usize,
    /// Time after which the execution of one transaction is stopped; `None` for no limit.
    pub transaction_time: Option<Duration>,
}

impl StepLimits {
    /// Default of [`Self::result_bytes`]: some 5,000 transfers, or nearly what 2^24 gas buys in logs.
    pub const RESULT_BYTES: usize = 16 << 20;
}

impl Default for StepLimits {
    /// Returns the limits of a step that may fill the block.
    fn default() -> Self {
        Self { share: BlockShare::ALL, result_bytes: usize::MAX, transaction_time: None }
    }
}

/// Room for a transaction in a step, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Room {
    Fits,
    /// The transaction needs more than the share of any step.
    Oversized,
    /// A later step has room.
    LaterStep,
    /// Only a later block has room.
    LaterBlock,
}

/// Use of one resource of the block: gas, blob gas or bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Remainder of the block.
    block: u64,
    /// Remainder of the shares so far.
    share: u64,
    /// Share of one step.
    step: u64,
    /// `true` if this step has used some.
    is_used: bool,
}

impl Budget {
    pub fn new(limit: u64, used: u64, share: BlockShare) -> Self {
        let block = limit.saturating_sub(used);
        let available = share.so_far(limit).saturating_sub(used);
        Self { block, share: available.min(block), step: share.one_step(limit), is_used: false }
    }

    /// Returns the remainder of the shares so far.
    pub fn share(&self) -> u64 {
        self.share
    }

    pub fn room(&self, needed: u64) -> Room {
        if needed <= self.share {
            Room::Fits
        } else if needed > self.block {
            Room::LaterBlock
        } else if needed > self.step {
            Room::Oversized
        } else {
            Room::LaterStep
        }
    }

    /// Returns `true` if the step may exceed the share: it has some left, and nothing else in the step uses any.
    pub fn may_exceed(&self, needed: u64) -> bool {
        needed <= self.share || (needed <= self.block && self.share > 0 && !self.is_used)
    }

    /// Leaves others half of one step's share at most, so that the shares add up to an oversized transaction although
    /// they wait.
    pub fn reserve(&mut self, needed: u64) {
        if needed > self.share {
            self.share = self.share.min(self.step / 2);
        }
    }

    pub fn subtract(&mut self, used: u64) {
        self.block = self.block.saturating_sub(used);
        self.share = self.share.saturating_sub(used);
        self.is_used |= used > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 30_000_000;

    fn share(left_ms: u64) -> BlockShare {
        let ms = Duration::from_millis;
        BlockShare::of_step(ms(left_ms), ms(200), ms(2_000))
    }

    #[test]
    fn shares_grow_with_time_and_the_last_is_everything() {
        let available = |left| Budget::new(LIMIT, 0, share(left)).share();
        assert_eq!([2_000, 1_800, 1_000, 201].map(available), [3_000_000, 6_000_000, 18_000_000, 29_985_000]);
        assert_eq!([200, 100, 0].map(available), [LIMIT; 3]);
    }

    #[test]
    fn a_share_loses_what_earlier_steps_used() {
        let budget = Budget::new(LIMIT, 4_000_000, share(1_800));
        assert_eq!(budget.share(), 2_000_000);
        assert_eq!(Budget::new(LIMIT, 29_000_000, share(1_800)).share(), 0);
    }

    #[test]
    fn room_depends_on_share_step_and_block() {
        let mut budget = Budget::new(LIMIT, 0, share(2_000));
        assert_eq!(budget.room(3_000_000), Room::Fits);
        assert_eq!(budget.room(3_000_001), Room::Oversized);
        assert_eq!(budget.room(LIMIT + 1), Room::LaterBlock);
        budget.subtract(1_000_000);
        assert_eq!(budget.room(2_500_000), Room::LaterStep);
        assert!(!budget.may_exceed(2_500_000));
    }

    #[test]
    fn an_oversized_transaction_may_exceed_an_unused_share_only() {
        let unused = Budget::new(LIMIT, 0, share(2_000));
        assert!(unused.may_exceed(20_000_000) && !unused.may_exceed(LIMIT + 1));
        assert!(!Budget::new(LIMIT, 20_000_000, share(1_800)).may_exceed(5_000_000));
    }

    #[test]
    fn a_reservation_leaves_half_of_a_share() {
        let mut budget = Budget::new(LIMIT, 0, share(2_000));
        budget.reserve(2_000_000);
        assert_eq!(budget.share(), 3_000_000);
        budget.reserve(5_000_000);
        assert_eq!(budget.share(), 1_500_000);
    }

    #[test]
    fn the_whole_block_has_one_share() {
        let budget = Budget::new(u64::MAX, 0, BlockShare::ALL);
        assert_eq!((budget.share(), budget.room(u64::MAX)), (u64::MAX, Room::Fits));
        assert_eq!(share(0), BlockShare::ALL);
    }
}
