//! Budgets of a step: what block and share leave of gas, blob gas, bytes and results.

use alloy_consensus::Transaction as _;
use foreseal_primitives::{MAX_BLOCK_BYTES, SpecId, Transaction, length_in_block};

use crate::{
    body::blob_gas,
    pending_block::PendingBlock,
    step_limits::{BlockShare, StepLimits},
};

/// Intrinsic gas of the cheapest transaction.
const MIN_GAS: u64 = 21_000;
/// Bytes reserved for the header when the block size is checked (EIP-7934). A header is under 1 KiB.
const HEADER_RESERVE: usize = 2048;

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
struct Budget {
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
    fn new(limit: u64, used: u64, share: BlockShare) -> Self {
        let block = limit.saturating_sub(used);
        let available = share.so_far(limit).saturating_sub(used);
        Self { block, share: available.min(block), step: share.one_step(limit), is_used: false }
    }

    fn room(&self, needed: u64) -> Room {
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
    fn may_exceed(&self, needed: u64) -> bool {
        needed <= self.share || (needed <= self.block && self.share > 0 && !self.is_used)
    }

    /// Leaves others half of one step's share at most, so that the shares add up to an oversized transaction although
    /// they wait.
    fn reserve(&mut self, needed: u64) {
        if needed > self.share {
            self.share = self.share.min(self.step / 2);
        }
    }

    fn subtract(&mut self, used: u64) {
        self.block = self.block.saturating_sub(used);
        self.share = self.share.saturating_sub(used);
        self.is_used |= used > 0;
    }
}

/// Remaining budgets of the block and of the step.
pub(crate) struct RemainingBudgets {
    gas: Budget,
    blob_gas: Budget,
    bytes: Budget,
    /// Bytes of the step's results as JSON.
    pub result_bytes: usize,
}

impl RemainingBudgets {
    pub fn new(block: &PendingBlock, limits: &StepLimits) -> Self {
        let header = block.header();
        let blob_limit = block.spec.blob_params(header.timestamp).map_or(0, |p| p.max_blob_gas_per_block());
        let share = limits.share;
        // The driver of an OP chain bounds its blocks.
        let bytes = if block.fork().is_enabled_in(SpecId::OSAKA) && block.spec.optimism().is_none() {
            let used = block.body.transactions_length + HEADER_RESERVE;
            Budget::new(MAX_BLOCK_BYTES as u64, used as u64, share)
        } else {
            Budget::new(u64::MAX, 0, BlockShare::ALL)
        };
        Self {
            gas: Budget::new(header.gas_limit, block.body.gas_used(), share),
            blob_gas: Budget::new(blob_limit, block.body.blob_gas_used, share),
            bytes,
            result_bytes: limits.result_bytes,
        }
    }

    /// Returns `true` if the shares so far leave gas for a transaction.
    pub fn has_gas(&self) -> bool {
        self.gas.share >= MIN_GAS
    }

    pub fn room(&self, transaction: &Transaction) -> Room {
        let needs = Needs::from_transaction(transaction);
        let gas = self.gas.room(needs.gas);
        gas.max(self.blob_gas.room(needs.blob_gas)).max(self.bytes.room(needs.bytes))
    }

    pub fn may_exceed_share(&self, transaction: &Transaction) -> bool {
        let needs = Needs::from_transaction(transaction);
        self.gas.may_exceed(needs.gas)
            && self.blob_gas.may_exceed(needs.blob_gas)
            && self.bytes.may_exceed(needs.bytes)
    }

    pub fn reserve(&mut self, transaction: &Transaction) {
        let needs = Needs::from_transaction(transaction);
        self.gas.reserve(needs.gas);
        self.blob_gas.reserve(needs.blob_gas);
        self.bytes.reserve(needs.bytes);
    }

    pub fn subtract(&mut self, transaction: &Transaction, gas_used: u64, result_bytes: usize) {
        let needs = Needs::from_transaction(transaction);
        self.gas.subtract(gas_used);
        self.blob_gas.subtract(needs.blob_gas);
        self.bytes.subtract(needs.bytes);
        self.result_bytes = self.result_bytes.saturating_sub(result_bytes);
    }
}

/// Resources that a transaction needs at most.
struct Needs {
    gas: u64,
    blob_gas: u64,
    bytes: u64,
}

impl Needs {
    fn from_transaction(transaction: &Transaction) -> Self {
        Self {
            gas: transaction.envelope().gas_limit(),
            blob_gas: blob_gas(transaction),
            bytes: length_in_block(transaction) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMIT: u64 = 30_000_000;

    fn share(left_ms: u64) -> BlockShare {
        let ms = Duration::from_millis;
        BlockShare::for_step(ms(left_ms), ms(200), ms(2_000))
    }

    #[test]
    fn shares_grow_with_time_and_the_last_is_everything() {
        let available = |left| Budget::new(LIMIT, 0, share(left)).share;
        assert_eq!([2_000, 1_800, 1_000, 201].map(available), [3_000_000, 6_000_000, 18_000_000, 29_985_000]);
        assert_eq!([200, 100, 0].map(available), [LIMIT; 3]);
    }

    #[test]
    fn a_share_loses_what_earlier_steps_used() {
        let budget = Budget::new(LIMIT, 4_000_000, share(1_800));
        assert_eq!(budget.share, 2_000_000);
        assert_eq!(Budget::new(LIMIT, 29_000_000, share(1_800)).share, 0);
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
        assert_eq!(budget.share, 3_000_000);
        budget.reserve(5_000_000);
        assert_eq!(budget.share, 1_500_000);
    }

    #[test]
    fn the_whole_block_has_one_share() {
        let budget = Budget::new(u64::MAX, 0, BlockShare::ALL);
        assert_eq!((budget.share, budget.room(u64::MAX)), (u64::MAX, Room::Fits));
        assert_eq!(share(0), BlockShare::ALL);
    }
}
