//! What a search for logs gives, wherever it looks.

use std::ops::ControlFlow;

use alloy_primitives::{B256, Log};

use crate::LogFilter;

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

    /// A match that comes from the store, where it has this ordinal: its place among all logs of the chain.
    fn stored(&mut self, _ordinal: u64, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.log(found)
    }

    /// Asked before a log of the store is read for `filter`: whoever has the one with this ordinal from an earlier search, and sees
    /// that it matches, takes it now, and nobody reads it. `Break` as in [`Self::log`].
    fn recall(&mut self, _ordinal: u64, _filter: &LogFilter) -> Option<ControlFlow<()>> {
        None
    }

    /// Asked every so often, also while nothing is found. `Break` ends the search here.
    fn pause(&mut self) -> ControlFlow<()>;
}
