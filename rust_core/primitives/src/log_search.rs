//! Results of a log search, from the store or from memory.

use std::ops::ControlFlow;

use alloy_primitives::{B256, Log};

use crate::LogFilter;

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

/// Receiver of the logs that a search finds.
pub trait LogSink {
    /// Receives a match; matches arrive in chain order. `Break` ends the search before this match.
    fn log(&mut self, found: &FoundLog<'_>) -> ControlFlow<()>;

    /// Receives a match from the store. `_ordinal` is its position among all logs of the chain.
    fn stored(&mut self, _ordinal: u64, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.log(found)
    }

    /// Offers a log of the store before it is read for `filter`. A sink that has cached the log
    /// with this ordinal, and finds that it matches, processes it and returns `Some`; the store is
    /// then not read. `Break` as in [`Self::log`].
    fn recall(&mut self, _ordinal: u64, _filter: &LogFilter) -> Option<ControlFlow<()>> {
        None
    }

    /// Called periodically, also while nothing is found. `Break` ends the search here.
    fn pause(&mut self) -> ControlFlow<()>;
}
