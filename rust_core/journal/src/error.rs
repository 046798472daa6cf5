//! What can go wrong with a journal.

use std::{fmt, io, path::PathBuf};

use serde::Serialize;

use crate::Identity;

/// A place in the journal: the segment's number and the byte offset in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub segment: u64,
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, offset {}", crate::layout::segment_name(self.segment), self.offset)
    }
}

/// Why the journal can't be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("journal: cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("journal: short write in {place}: {written} of {wanted} bytes")]
    ShortWrite { place: Place, written: usize, wanted: usize },
    /// An earlier append failed; nothing is written after it.
    #[error("journal stopped by an earlier failure: {cause}")]
    Poisoned { cause: String },
    /// Something that was once synced is no longer what it was.
    #[error("journal is corrupt at {place}: {reason}; `foreseal journal repair` shows what would be lost")]
    Corrupt { place: Place, reason: String },
    #[error("journal belongs to another chain: it holds {found}, this node runs {expected}")]
    WrongChain { found: Identity, expected: Identity },
    #[error("journal has format version {found}, newer than {supported}, the newest this program reads")]
    NewerFormat { found: u32, supported: u32 },
    /// Refused before anything is written: the journal goes on.
    #[error("journal: an append of {bytes} bytes is larger than the greatest, {limit}")]
    TooLarge { bytes: usize, limit: usize },
    /// The bytes are as they were written, but not what this program knows.
    #[error("journal: record {index} of append {sequence} at {place} cannot be read: {reason}")]
    Record { place: Place, sequence: u64, index: usize, reason: String },
}

impl JournalError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
