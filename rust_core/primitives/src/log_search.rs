//! Positions and results of a log search, in the store or in memory.

use alloy_primitives::{B256, Log};

/// A position between logs: before the log with this index in this block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition {
    pub block: u64,
    /// Index among the block's logs.
    pub index: u64,
}

impl LogPosition {
    /// Returns the position before the first log of a block.
    pub const fn block(block: u64) -> Self {
        Self { block, index: 0 }
    }
}

/// A log and its position.
#[derive(Clone, Copy, Debug)]
pub struct FoundLog<'a> {
    pub block_number: u64,
    pub block_hash: B256,
    /// Timestamp of the block in Unix seconds.
    pub timestamp: u64,
    pub transaction_hash: B256,
    pub transaction_index: u64,
    /// Index among the block's logs.
    pub index: u64,
    pub log: &'a Log,
}

impl FoundLog<'_> {
    /// Returns the position before this log.
    pub fn position(&self) -> LogPosition {
        LogPosition { block: self.block_number, index: self.index }
    }
}
