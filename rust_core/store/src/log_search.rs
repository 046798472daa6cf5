//! Search of stored logs by a filter: the index yields the ordinals, the `logs` table the logs.

use std::ops::{ControlFlow, Range};

use alloy_primitives::{B256, keccak256};
use foreseal_primitives::{FoundLog, LogFilter, LogPosition, LogSink};

use crate::{Next, Reader, StoreError, StoredLog, key, snapshot::Snapshot};

/// Maximum number of index lookups and delivered logs in one read transaction.
const PORTION: u64 = 1024;

/// The end of one portion of a search.
enum PortionEnd {
    /// Paused before the log with this ordinal; there may be more matches.
    Paused(u64),
    /// The sink ended the search at this position.
    Broken(LogPosition),
    End,
}

impl Reader {
    /// Passes `sink` the logs that match `filter`, from the position `from` up to the end of block
    /// `last`; both blocks must be stored. Returns the position where the search ended: before the
    /// block after `last`, or where `sink` ended it.
    pub fn search_logs(
        &self,
        filter: &LogFilter,
        from: LogPosition,
        last: u64,
        sink: &mut dyn LogSink,
    ) -> Result<LogPosition, StoreError> {
        if from.block > last {
            return Ok(from);
        }
        let mut ordinals = 0..0;
        let mut known = false;
        loop {
            let portion = self.read(|snapshot, _| {
                if !known {
                    (ordinals, known) = (snapshot.ordinals(from, last)?, true);
                }
                snapshot.search_logs(filter, ordinals.clone(), sink)
            })?;
            match portion {
                PortionEnd::End => return Ok(LogPosition::block(last + 1)),
                PortionEnd::Broken(at) => return Ok(at),
                PortionEnd::Paused(ordinal) => ordinals.start = ordinal,
            }
            if ordinals.is_empty() {
                return Ok(LogPosition::block(last + 1));
            }
            if sink.pause().is_break() {
                return self.read(|snapshot, _| snapshot.position_of(ordinals.start));
            }
        }
    }
}

impl Snapshot<'_> {
    /// Returns the ordinals of the logs from a position up to the end of a block; both blocks must be stored.
    fn ordinals(&self, from: LogPosition, last: u64) -> Result<Range<u64>, StoreError> {
        let first = self.logs_of(from.block)?;
        let end = if last == from.block { first.end } else { self.logs_of(last)?.end };
        Ok(first.start.saturating_add(from.index).min(first.end)..end)
    }

    fn search_logs(
        &self,
        filter: &LogFilter,
        ordinals: Range<u64>,
        sink: &mut dyn LogSink,
    ) -> Result<PortionEnd, StoreError> {
        let mut work = 0;
        let mut matches = self.tables.log_index().search(self.txn, filter, ordinals, &mut work)?;
        // The lookups that open the search do not count, so that every portion makes progress.
        let limit = work + PORTION;
        let mut place = None;
        loop {
            match matches.next_within(&mut work, limit)? {
                Next::End => return Ok(PortionEnd::End),
                Next::Paused => return Ok(PortionEnd::Paused(matches.position())),
                Next::Found(ordinal) => {
                    if let ControlFlow::Break(at) = self.deliver(filter, ordinal, &mut place, sink)? {
                        return Ok(PortionEnd::Broken(at));
                    }
                    work += 1;
                    if work >= limit {
                        return Ok(PortionEnd::Paused(matches.position()));
                    }
                }
            }
        }
    }

    /// Passes `sink` the log with this ordinal. `place` caches the block and transaction of the previous log.
    fn deliver(
        &self,
        filter: &LogFilter,
        ordinal: u64,
        place: &mut Option<LogContext>,
        sink: &mut dyn LogSink,
    ) -> Result<ControlFlow<LogPosition>, StoreError> {
        match sink.recall(ordinal, filter) {
            Some(ControlFlow::Continue(())) => return Ok(ControlFlow::Continue(())),
            Some(ControlFlow::Break(())) => return Ok(ControlFlow::Break(self.position_of(ordinal)?)),
            None => {}
        }
        let StoredLog { number, transaction, log } = self.existing_log(ordinal)?;
        if !filter.matches(&log) {
            return Err(StoreError::LogIndex(format!("it finds log {ordinal}, which does not match")));
        }
        let same_block = place.take().filter(|place| place.block_number == number);
        let mut here = match same_block {
            Some(place) => place,
            None => self.block_of_log(number)?,
        };
        if here.transaction.is_none_or(|(index, _)| index != transaction) {
            here.transaction = Some((transaction, self.transaction_hash(number, transaction)?));
        }
        let (index, hash) = here.transaction.expect("just set");
        let found = FoundLog {
            block_number: number,
            block_hash: here.block_hash,
            timestamp: here.timestamp,
            transaction_hash: hash,
            transaction_index: u64::from(index),
            index: ordinal.saturating_sub(here.first_log),
            log: &log,
        };
        *place = Some(here);
        Ok(match sink.stored(ordinal, &found) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(()) => ControlFlow::Break(found.position()),
        })
    }

    fn block_of_log(&self, number: u64) -> Result<LogContext, StoreError> {
        let (block_hash, record) = self.existing_record(number)?;
        Ok(LogContext {
            block_number: number,
            block_hash,
            timestamp: record.header.timestamp,
            first_log: record.first_log,
            transaction: None,
        })
    }

    /// Returns the position before the log with this ordinal.
    fn position_of(&self, ordinal: u64) -> Result<LogPosition, StoreError> {
        let block = self.existing_log(ordinal)?.number;
        let (_, record) = self.existing_record(block)?;
        Ok(LogPosition { block, index: ordinal.saturating_sub(record.first_log) })
    }

    fn existing_log(&self, ordinal: u64) -> Result<StoredLog, StoreError> {
        let missing = || self.tables.logs.damaged(&key::number(ordinal), "it is missing");
        self.log(ordinal)?.ok_or_else(missing)
    }

    /// Returns the hash of a log's transaction, computed from its bytes without decoding them.
    fn transaction_hash(&self, number: u64, index: u32) -> Result<B256, StoreError> {
        let (table, key) = (&self.tables.transactions, key::block_item(number, index));
        let bytes = table.get(self.txn, &key)?.ok_or_else(|| table.damaged(&key, "it is missing"))?;
        let encoded = bytes.get(20..).ok_or_else(|| table.damaged(&key, "it is too short"))?;
        Ok(keccak256(encoded))
    }
}

/// Fields that the logs of a block, or of a transaction, share.
struct LogContext {
    block_number: u64,
    block_hash: B256,
    timestamp: u64,
    first_log: u64,
    transaction: Option<(u32, B256)>,
}
