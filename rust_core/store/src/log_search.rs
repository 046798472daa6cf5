//! Search of stored logs by a filter: the index yields the ordinals, the `logs` table the logs.

use std::ops::{ControlFlow, Range};

use alloy_primitives::{B256, keccak256};
use foreseal_primitives::{FoundLog, LogFilter, LogPosition};

use crate::{
    block::StoredLog, error::StoreError, key, log_index::Next, read_transaction::ReadTransaction,
    reader::Reader,
};

/// Maximum number of index lookups and matches in one read transaction.
const PORTION: u64 = 1024;

/// Receiver of the logs that [`Reader::read_logs`] reads, each with its ordinal. `Break` ends the reading.
pub type VisitLog<'f> = &'f mut dyn FnMut(u64, &FoundLog<'_>) -> ControlFlow<()>;

/// Remaining range of a search of stored logs. Each portion of the search moves its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLogRange {
    /// Position at which the search began.
    pub from: LogPosition,
    /// Last block of the search.
    pub last: u64,
    /// Ordinals that remain; `None` until the first portion.
    pub ordinals: Option<Range<u64>>,
}

impl StoredLogRange {
    /// Returns the range from a position to the end of a block.
    pub const fn new(from: LogPosition, last: u64) -> Self {
        Self { from, last, ordinals: None }
    }

    /// Returns `true` if nothing remains.
    pub fn is_finished(&self) -> bool {
        self.from.block > self.last || self.ordinals.as_ref().is_some_and(Range::is_empty)
    }
}

impl Reader {
    /// Returns the ordinals of the next logs in `range` that match `filter`, in chain order, and moves the start of
    /// the range past them. One call is one transaction with a limited amount of work, so the result may be empty
    /// although more logs match. It never has more than `max` ordinals.
    ///
    /// # Errors
    ///
    /// Fails if a block at either end of the range is not stored.
    pub fn match_logs(
        &self,
        filter: &LogFilter,
        range: &mut StoredLogRange,
        max: usize,
    ) -> Result<Vec<u64>, StoreError> {
        if range.is_finished() {
            return Ok(Vec::new());
        }
        self.read(|read_txn, _| {
            let ordinals = match &mut range.ordinals {
                Some(ordinals) => ordinals,
                none => none.insert(read_txn.ordinals(range.from, range.last)?),
            };
            read_txn.match_logs(filter, ordinals, max)
        })
    }

    /// Reads the logs with these ordinals, ascending, and passes them to `visit`. All are read in one transaction,
    /// so the caller passes no more than a portion of [`Self::match_logs`].
    ///
    /// # Errors
    ///
    /// Fails if a log does not match `filter`: the index is damaged.
    pub fn read_logs(
        &self,
        filter: &LogFilter,
        ordinals: &[u64],
        visit: VisitLog<'_>,
    ) -> Result<(), StoreError> {
        if ordinals.is_empty() {
            return Ok(());
        }
        self.read(|read_txn, _| read_txn.read_logs(filter, ordinals, visit))
    }

    /// Returns the position before the log with this ordinal.
    pub fn log_position(&self, ordinal: u64) -> Result<LogPosition, StoreError> {
        self.read(|read_txn, _| {
            let block = read_txn.existing_log(ordinal)?.number;
            let (_, record) = read_txn.existing_record(block)?;
            Ok(LogPosition { block, index: ordinal.saturating_sub(record.first_log) })
        })
    }
}

impl ReadTransaction<'_> {
    /// Returns the ordinals of the logs from a position up to the end of a block; both blocks must be stored.
    fn ordinals(&self, from: LogPosition, last: u64) -> Result<Range<u64>, StoreError> {
        let first = self.logs_of(from.block)?;
        let end = if last == from.block { first.end } else { self.logs_of(last)?.end };
        Ok(first.start.saturating_add(from.index).min(first.end)..end)
    }

    fn match_logs(
        &self,
        filter: &LogFilter,
        ordinals: &mut Range<u64>,
        max: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let (mut work, mut matched) = (0, Vec::new());
        let index = self.tables.log_index();
        let mut matches = index.search(self.txn, filter, ordinals.clone(), &mut work)?;
        // The lookups that open the search do not count, so that every portion makes progress.
        let limit = work + PORTION;
        loop {
            match matches.next_within(&mut work, limit)? {
                Next::End => {
                    ordinals.start = ordinals.end;
                    return Ok(matched);
                }
                Next::Found(ordinal) => {
                    matched.push(ordinal);
                    work += 1;
                    if work < limit && matched.len() < max {
                        continue;
                    }
                }
                Next::Paused => {}
            }
            ordinals.start = matches.position();
            return Ok(matched);
        }
    }

    fn read_logs(&self, filter: &LogFilter, ordinals: &[u64], visit: VisitLog<'_>) -> Result<(), StoreError> {
        // Block and transaction of the previous log, which many logs share.
        let mut previous: Option<LogContext> = None;
        for &ordinal in ordinals {
            let StoredLog { number, transaction, log } = self.existing_log(ordinal)?;
            if !filter.matches(&log) {
                return Err(StoreError::LogIndex(format!("it finds log {ordinal}, which does not match")));
            }
            let same_block = previous.take().filter(|context| context.block_number == number);
            let mut context = match same_block {
                Some(context) => context,
                None => self.context_of_block(number)?,
            };
            let hash = match context.transaction {
                Some((index, hash)) if index == transaction => hash,
                _ => self.transaction_hash(number, transaction)?,
            };
            context.transaction = Some((transaction, hash));
            let entry = FoundLog {
                block_number: number,
                block_hash: context.block_hash,
                timestamp: context.timestamp,
                transaction_hash: hash,
                transaction_index: u64::from(transaction),
                index: ordinal.saturating_sub(context.first_log),
                log: &log,
            };
            previous = Some(context);
            if visit(ordinal, &entry).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn context_of_block(&self, number: u64) -> Result<LogContext, StoreError> {
        let (block_hash, record) = self.existing_record(number)?;
        Ok(LogContext {
            block_number: number,
            block_hash,
            timestamp: record.header.timestamp,
            first_log: record.first_log,
            transaction: None,
        })
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
