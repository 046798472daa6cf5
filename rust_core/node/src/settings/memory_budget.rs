//! The memory budget of a process and its shares.

use foreseal_chain::CacheSizes;
use foreseal_replication::RingLimits;
use foreseal_store::StateCacheSizes;

use crate::settings::queue_limits::QueueLimits;

/// Use of memory that the budget bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUse {
    /// Cache of accounts read from the store.
    Accounts,
    /// Cache of storage slots read from the store.
    Slots,
    /// Cache of analysed contract code.
    Code,
    /// Cache of blocks read from the store.
    Blocks,
    /// Cache of re-executed states of steps.
    StepStates,
    /// Cache of stored logs as JSON.
    LogJson,
    /// Cache of blocks and receipts as JSON.
    BlockJson,
    /// Sealed blocks in memory: the window of stored blocks, and the queue of blocks that the store does not have.
    SealedBlocks,
    /// Blocks that only queued views of slow subscribers hold.
    QueuedViews,
    /// Frames for followers.
    Frames,
    /// Reorged blocks.
    ReorgedBlocks,
    /// Blocks of branches, finished payloads, and steps of payloads for the reader that publishes them, under a driver.
    DriverBlocks,
    /// Transactions in the pool.
    Pool,
}

impl MemoryUse {
    pub const ALL: [Self; 13] = [
        Self::Accounts,
        Self::Slots,
        Self::Code,
        Self::Blocks,
        Self::StepStates,
        Self::LogJson,
        Self::BlockJson,
        Self::SealedBlocks,
        Self::QueuedViews,
        Self::Frames,
        Self::ReorgedBlocks,
        Self::DriverBlocks,
        Self::Pool,
    ];

    /// Returns the share in units of [`MemoryBudget::TOTAL_WEIGHT`]. This is the only table of shares; one unit of the
    /// default budget is 4 MiB.
    const fn weight(self) -> u64 {
        match self {
            Self::Accounts => 1,
            Self::Slots | Self::LogJson => 2,
            Self::StepStates => 4,
            Self::BlockJson => 5,
            Self::Blocks | Self::ReorgedBlocks | Self::DriverBlocks => 6,
            Self::Code => 12,
            Self::Pool => 32,
            Self::SealedBlocks => 36,
            Self::QueuedViews | Self::Frames => 8,
        }
    }
}

/// Memory budget of a process for data of the chain and of the pool, in bytes. It bounds what others make large, and
/// leaves out the program, the block being built and requests in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget {
    bytes: u64,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self { bytes: 512 << 20 }
    }
}

impl MemoryBudget {
    /// Sum of the weights of all uses.
    pub const TOTAL_WEIGHT: u64 = 128;

    /// Returns a budget of `bytes`.
    pub const fn new(bytes: u64) -> Self {
        Self { bytes }
    }

    /// Returns the budget in bytes.
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// Returns the share of a use, in bytes.
    pub const fn share(self, what: MemoryUse) -> u64 {
        self.bytes / Self::TOTAL_WEIGHT * what.weight()
    }

    fn size(self, what: MemoryUse) -> usize {
        usize::try_from(self.share(what)).unwrap_or(usize::MAX)
    }

    /// Returns the capacities of the caches in front of the store.
    pub fn caches(self) -> CacheSizes {
        CacheSizes {
            state: StateCacheSizes {
                accounts: self.share(MemoryUse::Accounts),
                slots: self.share(MemoryUse::Slots),
                code: self.share(MemoryUse::Code),
            },
            blocks: self.share(MemoryUse::Blocks),
            step_states: self.share(MemoryUse::StepStates),
        }
    }

    /// Returns the maximum size of the window of sealed blocks: stored blocks leave memory above it.
    pub(crate) fn window_bytes(self) -> usize {
        self.size(MemoryUse::SealedBlocks) / 2
    }

    /// Returns the maximum size of the pool.
    pub fn pool_bytes(self) -> usize {
        self.size(MemoryUse::Pool)
    }

    /// Returns the maximum size of reorged blocks.
    pub(crate) fn reorged_bytes(self) -> usize {
        self.size(MemoryUse::ReorgedBlocks)
    }

    /// Returns the maximum size of each of the three parts of [`MemoryUse::DriverBlocks`].
    pub(crate) fn driver_bytes(self) -> usize {
        self.size(MemoryUse::DriverBlocks) / 3
    }

    /// Returns the limits of the queue of blocks for the store. Its blocks are in the window too, so it may grow to the
    /// whole share; the builder is throttled from half of it on.
    pub(crate) fn queue_limits(self, weight: usize) -> QueueLimits {
        QueueLimits { weight, bytes: self.size(MemoryUse::SealedBlocks) / 2 }
    }

    /// Returns the limits of the ring of frames for followers.
    pub(crate) fn ring_limits(self) -> RingLimits {
        RingLimits { bytes: self.size(MemoryUse::Frames), ..RingLimits::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_add_up_to_the_budget() {
        assert_eq!(MemoryUse::ALL.iter().map(|what| what.weight()).sum::<u64>(), MemoryBudget::TOTAL_WEIGHT);
        for bytes in [0, 1, 1 << 20, 512 << 20, u64::MAX] {
            let budget = MemoryBudget::new(bytes);
            let shares = MemoryUse::ALL.map(|what| budget.share(what));
            let sum = shares.iter().try_fold(0_u64, |sum, share| sum.checked_add(*share));
            assert!(sum.is_some_and(|sum| sum <= bytes && bytes - sum < MemoryBudget::TOTAL_WEIGHT));
        }
    }
}
