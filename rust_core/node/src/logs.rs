//! Searching a view for logs.

use std::{cmp::Ordering, ops::ControlFlow, sync::Arc};

use foreseal_state::StateError;
use foreseal_types::{Block, FoundLog, LogFilter, LogPosition, LogSink, Receipt};

use crate::View;

impl View {
    /// Gives `sink` the logs that match `filter`, from the place `from` on up to the end of block `last`, sealed or being
    /// built. Returns where the search ended: in front of the block after `last`, or where `sink` broke it off.
    pub fn search_logs(
        &self,
        filter: &LogFilter,
        from: LogPosition,
        last: u64,
        sink: &mut dyn LogSink,
    ) -> Result<LogPosition, StateError> {
        let last = last.min(self.pending().number());
        let mut position = from;
        let first = self.sealed.first();
        if position.block < first
            && let Some(archive) = self.sealed.archive()
        {
            let stored = last.min(first - 1);
            position = archive.search_logs(filter, position, stored, sink)?;
            if position.block <= stored {
                return Ok(position);
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

/// Gives `sink` the matching logs of one block, from the one with index `first` on: blooms of the block and its receipts
/// are asked before the logs themselves. Breaks with the place where `sink` broke it off.
pub fn search_block(
    block: &Block,
    filter: &LogFilter,
    first: u64,
    sink: &mut dyn LogSink,
) -> ControlFlow<LogPosition> {
    if !filter.may_match(&block.header.logs_bloom) {
        return ControlFlow::Continue(());
    }
    // A step's logs are searched for often, and its block may have thousands of transactions before them.
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
