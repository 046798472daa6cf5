//! The newest appends of a journal on this machine.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_journal::{
    Identity, JournalError, JournalReader, OfflineJournal, RealDisk, Record, RecordDecodeError, RecordSummary,
};

use crate::retention::MIN_RETAINED_RECORDS;

/// An append of a journal with the hash of its content.
#[derive(Clone, Debug)]
pub struct SourceAppend {
    pub sequence: u64,
    /// Content hash: see [`RawAppend`](foreseal_journal::RawAppend).
    pub content: B256,
    pub records: Vec<Record>,
}

/// Appends of one journal in order, for a copy into a quorum store.
pub trait AppendSource {
    /// Returns the chain of the journal.
    fn identity(&self) -> Identity;

    /// Returns the sequence number of the oldest append of the source.
    fn first(&self) -> u64;

    /// Returns the sequence number after the newest append.
    fn next(&self) -> u64;

    /// Returns the appends from this sequence number on.
    ///
    /// # Errors
    /// Returns an error if the source cannot be read.
    fn appends(&self, from: u64) -> Result<SourceAppends<'_>, AppendSourceError>;
}

/// Iterator over the appends of a source. It ends after an error.
pub type SourceAppends<'a> = Box<dyn Iterator<Item = Result<SourceAppend, AppendSourceError>> + 'a>;

/// Reasons why appends cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AppendSourceError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Decode(#[from] RecordDecodeError),
    #[error("the journal is damaged: {0}; `foreseal journal check` shows where")]
    Damaged(String),
    #[error("the journal has no append")]
    Empty,
    #[error("the export {0}")]
    Export(String),
    #[error("cannot read the export: {0}")]
    Io(#[from] std::io::Error),
}

/// The newest appends of the journal in a data directory: at least 300 if it has them, and back to the newest
/// sealed block.
pub struct JournalTail {
    reader: JournalReader,
    identity: Identity,
    first: u64,
    next: u64,
}

impl JournalTail {
    /// Reads and verifies the whole journal. The caller holds its lock.
    ///
    /// # Errors
    /// Returns [`AppendSourceError`] if the journal is damaged or empty.
    pub fn open(journal: &OfflineJournal) -> Result<Self, AppendSourceError> {
        let report = journal.check()?;
        if let Some(fault) = report.fault {
            return Err(AppendSourceError::Damaged(format!("{}: {}", fault.position, fault.reason)));
        }
        if let Some(missing) = report.missing {
            return Err(AppendSourceError::Damaged(missing));
        }
        let identity = report.identity.filter(|_| report.appends > 0).ok_or(AppendSourceError::Empty)?;
        let next = report.first_sequence.saturating_add(report.appends);
        let reader = JournalReader::new(journal.folder().to_owned(), Arc::new(RealDisk), identity, next);
        let mut sealed = report.first_sequence;
        reader.summaries(next - 1, &mut |sequence, records| {
            if records.iter().any(ends_block) {
                sealed = sequence;
            }
        })?;
        let first = next.saturating_sub(MIN_RETAINED_RECORDS).min(sealed).max(report.first_sequence);
        Ok(Self { reader, identity, first, next })
    }
}

/// Returns `true` for a record after which no block is in progress.
fn ends_block(record: &RecordSummary) -> bool {
    matches!(record, RecordSummary::Seal | RecordSummary::Import | RecordSummary::Unwind { .. })
}

impl AppendSource for JournalTail {
    fn identity(&self) -> Identity {
        self.identity
    }

    fn first(&self) -> u64 {
        self.first
    }

    fn next(&self) -> u64 {
        self.next
    }

    fn appends(&self, from: u64) -> Result<SourceAppends<'_>, AppendSourceError> {
        let raw = self.reader.raw_appends(from.max(self.first))?;
        Ok(Box::new(raw.map(|append| {
            let append = append?;
            let (sequence, content) = (append.sequence, append.hash);
            Ok(SourceAppend { sequence, content, records: append.decode()?.records })
        })))
    }
}
