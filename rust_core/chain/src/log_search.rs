//! Log search in a view.

use std::{cmp::Ordering, ops::ControlFlow, sync::Arc};

use foreseal_primitives::{Block, FoundLog, LogFilter, LogPosition, LogSink, Receipt};
use foreseal_state::StateError;

use crate::View;

impl View {
    /// Passes the logs that match `filter` to `sink`, from position `from` to the end of block `last`, sealed
    /// or being built. Returns the position where the search ended: the start of the block after `last`, or
    /// the position at which `sink` stopped it.
    pub fn search_logs(
        &self,
        filter: &LogFilter,
        from: LogPosition,
        last: u64,
        sink: &mut dyn LogSink,
    ) -> Result<LogPosition, StateError> {
        let last = last.min(self.pending().number());
        let mut position = from;
        if let Some(archive) = self.sealed.archive()
            && let Some(stored) =
                archive.confirmed().map(|number| number.min(last).min(self.latest().number()))
            && position.block <= stored
        {
            // The store has an index, so it is searched even for blocks that are in memory.
            let mut sink = Marked { sink, used: false };
            match archive.search_logs(filter, position, stored, &mut sink) {
                Ok(ended) if ended.block <= stored => return Ok(ended),
                Ok(ended) => {
                    position = ended;
                    if position.block <= last && sink.pause().is_break() {
                        return Ok(position);
                    }
                }
                Err(StateError::ViewGone) if !sink.used && position.block >= self.sealed.first() => {}
                Err(error) => return Err(error),
            }
        }
        while position.block <= last {
            if let Some(found) = self.at(position.block)?
                && let ControlFlow::Break(at) = search_block(&found.block, filter, position.index, sink)
            {
                return Ok(at);
            }
            position = LogPosition::block(position.block + 1);
            if position.block <= last && sink.pause().is_break() {
                break;
            }
        }
        Ok(position)
    }
}

/// A sink that records if it received anything.
struct Marked<'a> {
    sink: &'a mut dyn LogSink,
    used: bool,
}

impl LogSink for Marked<'_> {
    fn log(&mut self, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.used = true;
        self.sink.log(found)
    }

    fn stored(&mut self, ordinal: u64, found: &FoundLog<'_>) -> ControlFlow<()> {
        self.used = true;
        self.sink.stored(ordinal, found)
    }

    fn recall(&mut self, ordinal: u64, filter: &LogFilter) -> Option<ControlFlow<()>> {
        let recalled = self.sink.recall(ordinal, filter);
        self.used |= recalled.is_some();
        recalled
    }

    fn pause(&mut self) -> ControlFlow<()> {
        self.sink.pause()
    }
}

/// Passes the matching logs of one block to `sink`, starting at log index `first`. The blooms of the block
/// and its receipts are checked before the logs. Breaks with the position at which `sink` stopped the search.
pub fn search_block(
    block: &Block,
    filter: &LogFilter,
    first: u64,
    sink: &mut dyn LogSink,
) -> ControlFlow<LogPosition> {
    if !filter.may_match(&block.header.logs_bloom) {
        return ControlFlow::Continue(());
    }
    // Searches often start at a step, which can have thousands of transactions of its block before it.
    let side =
        |receipt: &Arc<Receipt>| if receipt.log_end() > first { Ordering::Greater } else { Ordering::Less };
    let begin = block.receipts.binary_search_by(side).unwrap_or_else(|begin| begin);
    let (transactions, receipts) = (block.transactions.skip(begin), block.receipts.skip(begin));
    for (index, (transaction, receipt)) in (begin as u64..).zip(transactions.iter().zip(&receipts)) {
        if receipt.logs.is_empty() || !filter.may_match(&receipt.bloom) {
            continue;
        }
        for (log_index, log) in (receipt.first_log_index..).zip(&receipt.logs) {
            if log_index < first || !filter.matches(log) {
                continue;
            }
            let found = FoundLog {
                block_number: block.header.number,
                block_hash: block.hash,
                timestamp: block.header.timestamp,
                transaction_hash: transaction.hash(),
                transaction_index: index,
                index: log_index,
                log,
            };
            if sink.log(&found).is_break() {
                return ControlFlow::Break(found.position());
            }
        }
    }
    ControlFlow::Continue(())
}
