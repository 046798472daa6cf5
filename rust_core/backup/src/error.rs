//! Errors of backup and restore.

use std::path::PathBuf;

use foreseal_chain::datadir::DataDirError;
use foreseal_journal::{Identity, JournalError};
use foreseal_primitives::UNRELEASED;
use foreseal_store::StoreError;

/// Error of making or restoring a backup, or of sending or receiving a copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{} is not empty: choose a new folder", .0.display())]
    NotEmpty(PathBuf),
    /// An earlier run was interrupted.
    #[error("{} is from an interrupted backup: remove it first", .0.display())]
    Unfinished(PathBuf),
    #[error("{} is not a backup: {why}", path.display())]
    NotABackup { path: PathBuf, why: String },
    #[error("the backup has format {version}, newer than the supported version {supported}")]
    NewerFormat { version: u32, supported: u32 },
    #[error("the backup {UNRELEASED}")]
    Unreleased,
    #[error("the backup is damaged: {file}: {why}")]
    Damaged { file: String, why: String },
    #[error("{} has no sequencer key to copy", .0.display())]
    NoKey(PathBuf),
    /// The node removed journal segments that the store needs while the store was copied.
    #[error(
        "the node removed the journal after append {sequence} while the store was copied: try again, or retain the journal longer (--store-retention)"
    )]
    Outrun { sequence: u64 },
    #[error("the stream is not a snapshot of this version: {why}")]
    NotACopy { why: String },
    #[error("the snapshot is damaged: {file}: {why}: fetch it again")]
    DamagedCopy { file: String, why: String },
    /// The connection to the other side failed.
    #[error("the snapshot was interrupted: {why}: start it again")]
    Stream { why: String },
    #[error("the sender could not complete the snapshot: {0}")]
    SenderFailed(String),
    #[error(
        "the snapshot is of chain {identity}, expected chain {expected}: choose a sender of the same chain"
    )]
    OtherChain { identity: Identity, expected: Identity },
    #[error("the backup was cancelled")]
    Interrupted,
}
