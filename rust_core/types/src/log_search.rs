//! What a search for logs gives, wherever it looks.

use std::ops::ControlFlow;

use alloy_primitives::{B256, Log};

/// A place between logs: in front of the log with this index in this block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition {
    pub block: u64,
    /// Index among the block's logs.
    pub index: u64,
}

impl LogPosition {
    /// In front of the first log of a block.
    pub const fn block(block: u64) -> Self {
        Self { block, index: 0 }
    }
}

/// A log and where it is.
#[derive(Clone, Copy, Debug)]
pub struct FoundLog<'a> {
    pub block_number: u64,
    pub block_hash: B256,
    /// Of the block, seconds since 1970.
    pub timestamp: u64,
    pub transaction_hash: B256,
    pub transaction_index: u64,
    /// Index among the block's logs.
    pub index: u64,
    pub log: &'a Log,
}

impl FoundLog<'_> {
    /// In front of this log.
    pub fn position(&self) -> LogPosition {
        LogPosition { block: self.block_number, index: self.index }
    }
}

/// Who receives what a search finds.
pub trait LogSink {
    /// A match; they come in the order of the chain. `Break` ends the search in front of it.
    fn log(&mut self, found: &FoundLog<'_>) -> ControlFlow<()>;

    /// Asked every so often, also while nothing is found. `Break` ends the search here.
    fn pause(&mut self) -> ControlFlow<()>;
}
