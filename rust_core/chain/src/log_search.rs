//! Log search in a view: an iterator over references to the logs that match.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use foreseal_primitives::{Block, FoundLog, LogFilter, LogPosition, Receipt};
use foreseal_state::StateError;
use foreseal_store::{StoredLogRange, VisitLog};

use crate::{executed_block::ExecutedBlock, view::View};

/// Matches that one portion of a search found, in chain order.
#[derive(Debug)]
pub enum LogMatches {
    /// Ordinals of logs in the store: their positions among all logs of the chain. [`View::read_logs`] reads
    /// them. The list may be empty although the search continues.
    Stored(Vec<u64>),
    /// A block in memory, whose matching logs from this index on [`matching_logs`] returns.
    Block { block: Arc<ExecutedBlock>, first: u64 },
}

/// Search of a view's logs: an iterator over portions of references, each a limited amount of work. Between two
/// portions the caller can check its deadline.
///
/// References to stored logs are not read by the search, so a caller that has cached a log need not read it.
#[derive(Debug)]
pub struct LogSearch<'v> {
    view: &'v View,
    filter: &'v LogFilter,
    /// Part in the store that remains. The part in memory begins after its last block.
    stored: Option<StoredLogRange>,
    /// Position at which the part in the store began; `None` if there was none, or after a retry in memory.
    stored_from: Option<LogPosition>,
    /// Maximum number of matches in one portion.
    max_portion: usize,
    /// Position in memory from which the search continues.
    next: LogPosition,
    /// Last block of the search.
    last: u64,
}

impl View {
    /// Searches for the logs that match `filter`, from position `from` to the end of block `last`, sealed or being
    /// built. No portion has more than `max_portion` stored logs: a caller that needs few pays for few.
    pub fn search_logs<'v>(
        &'v self,
        filter: &'v LogFilter,
        from: LogPosition,
        last: u64,
        max_portion: usize,
    ) -> LogSearch<'v> {
        let last = last.min(self.pending().number());
        let confirmed = self.sealed.archive().and_then(crate::archive::Archive::confirmed);
        // The store has an index, so it is searched even for blocks that are in memory.
        let stored = confirmed
            .map(|number| number.min(last).min(self.latest().number()))
            .filter(|number| from.block <= *number)
            .map(|number| StoredLogRange::new(from, number));
        let next = stored.as_ref().map_or(from, |range| LogPosition::block(range.last + 1));
        let stored_from = stored.as_ref().map(|range| range.from);
        LogSearch { view: self, filter, stored, stored_from, max_portion, next, last }
    }

    /// Reads stored logs, ascending by ordinal, and passes each to `visit` with its ordinal. `Break` ends the reading.
    ///
    /// # Errors
    ///
    /// [`StateError::ViewGone`] if an unwind has replaced the history since the search.
    pub fn read_logs(
        &self,
        filter: &LogFilter,
        ordinals: &[u64],
        visit: VisitLog<'_>,
    ) -> Result<(), StateError> {
        self.sealed.archive().map_or(Ok(()), |archive| archive.history().read_logs(filter, ordinals, visit))
    }

    /// Returns the position before the stored log with this ordinal.
    pub fn log_position(&self, ordinal: u64) -> Result<LogPosition, StateError> {
        let Some(archive) = self.sealed.archive() else { return Ok(LogPosition::default()) };
        archive.history().log_position(ordinal)
    }

    /// Returns the generation of stored logs: while it is the same, an ordinal names the same log.
    pub fn log_generation(&self) -> u64 {
        self.sealed.archive().map_or(0, |archive| archive.history().generation())
    }
}

impl LogSearch<'_> {
    /// Returns the position from which the search continues: the block after the last one at its end.
    pub fn position(&self) -> Result<LogPosition, StateError> {
        match &self.stored {
            Some(StoredLogRange { from, ordinals: None, .. }) => Ok(*from),
            Some(StoredLogRange { ordinals: Some(Range { start, .. }), .. }) => {
                self.view.log_position(*start)
            }
            None => Ok(self.next),
        }
    }

    /// Returns `true` if nothing remains to be searched.
    pub fn is_finished(&self) -> bool {
        self.stored.is_none() && self.next.block > self.last
    }

    /// Continues in memory if an unwind has replaced the store's history and all blocks of the search are still in
    /// memory. Returns `false` if that is impossible. Call it only before any match was used.
    pub fn retry_in_memory(&mut self) -> bool {
        let first = self.view.sealed.first();
        let Some(from) = self.stored_from.take_if(|from| from.block >= first) else { return false };
        (self.stored, self.next) = (None, from);
        true
    }
}

impl Iterator for LogSearch<'_> {
    type Item = Result<LogMatches, StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let (Some(range), Some(archive)) = (&mut self.stored, self.view.sealed.archive()) {
            let ordinals = archive.history().match_logs(self.filter, range, self.max_portion);
            if range.is_finished() {
                self.stored = None;
            }
            return Some(ordinals.map(LogMatches::Stored));
        }
        while self.next.block <= self.last {
            let LogPosition { block: number, index: first } = self.next;
            self.next = LogPosition::block(number + 1);
            match self.view.at(number) {
                Ok(Some(block)) => return Some(Ok(LogMatches::Block { block, first })),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

/// Returns the logs of a block that match `filter`, from log index `first` on. The blooms of the block and its
/// receipts are checked before the logs.
pub fn matching_logs<'b>(
    block: &'b Block,
    filter: &'b LogFilter,
    first: u64,
) -> impl Iterator<Item = FoundLog<'b>> {
    let may_match = filter.may_match(&block.header.logs_bloom);
    // Searches often start at a step, which can have thousands of transactions of its block before it.
    let side =
        |receipt: &Arc<Receipt>| if receipt.log_end() > first { Ordering::Greater } else { Ordering::Less };
    let begin = if may_match {
        block.receipts.binary_search_by(side).unwrap_or_else(|begin| begin)
    } else {
        block.receipts.len()
    };
    let receipts = (begin..).zip(block.receipts.focus().narrow(begin..));
    let with_matches =
        receipts.filter(|(_, receipt)| !receipt.logs.is_empty() && filter.may_match(&receipt.bloom));
    with_matches.flat_map(move |(index, receipt)| {
        let logs = (receipt.first_log_index..).zip(&receipt.logs);
        let matching = logs.filter(move |(log_index, log)| *log_index >= first && filter.matches(log));
        let transaction_hash = block.transactions[index].hash();
        matching.map(move |(log_index, log)| FoundLog {
            block_number: block.header.number,
            block_hash: block.hash,
            timestamp: block.header.timestamp,
            transaction_hash,
            transaction_index: index as u64,
            index: log_index,
            log,
        })
    })
}
