//! Errors of the journal.

use std::{fmt, io, path::PathBuf};

use foreseal_primitives::UNRELEASED;
use serde::Serialize;

use crate::{layout::Identity, recorded_end::RecordedEnd};

/// A position in the journal: segment number and byte offset in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct JournalPosition {
    pub segment: u64,
    pub offset: u64,
}

impl fmt::Display for JournalPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, offset {}", crate::layout::segment_name(self.segment), self.offset)
    }
}

/// Errors of opening, reading or writing the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("journal: cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("journal: short write in {position}: {written} of {wanted} bytes")]
    ShortWrite { position: JournalPosition, written: usize, wanted: usize },
    /// An earlier append failed; the journal rejects every later write.
    #[error("journal stopped by an earlier failure: {cause}")]
    Poisoned { cause: String },
    /// Data that was once synced has changed.
    #[error("journal is corrupt at {position}: {reason}; `foreseal journal repair` shows what would be lost")]
    Corrupt { position: JournalPosition, reason: String },
    /// The recorded end proves that acknowledged appends are missing.
    #[error(
        "journal has lost {} acknowledged appends at {position}: it ends with append {}, and {} records append {}{}; \
         `foreseal journal repair` shows what would be lost",
        mark.next.saturating_sub(*next), PreviousAppend(*next), path.display(), PreviousAppend(mark.next), mark.tip
    )]
    Missing { path: PathBuf, position: JournalPosition, next: u64, mark: Box<RecordedEnd> },
    /// The recorded end belongs to another history of this chain.
    #[error(
        "journal is not the one that {} records: append {} has another hash; \
         `foreseal journal repair` shows what would be lost",
        path.display(), PreviousAppend(mark.next)
    )]
    OtherHistory { path: PathBuf, mark: Box<RecordedEnd> },
    /// Neither copy of the recorded end can be read.
    #[error(
        "journal: {} is damaged at offset 0 and at offset 512; `foreseal journal repair` rewrites it",
        path.display()
    )]
    EndDamaged { path: PathBuf },
    /// Another process has opened the journal for writing.
    #[error("journal: fenced by another writer{}, this process has epoch {ours}: writing stopped", by_epoch(*epoch))]
    Fenced { ours: u64, epoch: Option<u64> },
    /// The open file was truncated: acknowledged appends are missing.
    #[error(
        "journal: {} was truncated to {length} bytes during a write, {expected} are in use: writing stopped",
        path.display()
    )]
    Shortened { path: PathBuf, length: u64, expected: u64 },
    /// The open file was renamed, replaced or removed.
    #[error("journal: {} was moved, replaced or removed: writing stopped", path.display())]
    Moved { path: PathBuf },
    #[error("journal belongs to another chain: found {identity}, expected {expected}")]
    WrongChain { identity: Identity, expected: Identity },
    #[error("journal has format version {version}, newer than the supported version {supported}")]
    NewerFormat { version: u32, supported: u32 },
    #[error("journal {} {UNRELEASED}", path.display())]
    Unreleased { path: PathBuf },
    /// The append was rejected before anything was written: the journal stays usable.
    #[error("journal: an append of {bytes} bytes exceeds the limit of {limit}")]
    TooLarge { bytes: usize, limit: usize },
    /// Another machine writes the chain now: none of the records was made visible.
    #[error("another sequencer writes the chain now: {leader}")]
    Superseded { leader: String },
    /// The node is stopping and does not wait for the quorum any longer. The append may exist there.
    #[error("the node stopped while the quorum of the journal was not reachable")]
    Interrupted,
    /// The quorum of the journal rejected the append, or contradicts this journal.
    #[error("quorum journal: {reason}")]
    Quorum { reason: String },
    /// The bytes are intact, but this program cannot decode them.
    #[error("journal: record {index} of append {sequence} at {position} cannot be read: {reason}")]
    Record { position: JournalPosition, sequence: u64, index: usize, reason: String },
}

/// Displays the number of the append before this one.
struct PreviousAppend(u64);

impl fmt::Display for PreviousAppend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.checked_sub(1) {
            Some(last) => write!(f, "{last}"),
            None => f.write_str("none"),
        }
    }
}

fn by_epoch(epoch: Option<u64>) -> String {
    epoch.map(|epoch| format!(" with epoch {epoch}")).unwrap_or_default()
}

impl JournalError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
