//! Errors of the store.

use std::{
    io,
    path::{Path, PathBuf},
};

use alloy_primitives::{B256, hex};
use foreseal_primitives::UNRELEASED;
use heed::MdbError;

use crate::log_index::LogIndexError;

/// Reasons for which a store cannot be opened, read or written.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    #[error("store: cannot {action} {}: {why}", path.display())]
    Io { action: &'static str, path: PathBuf, why: String },
    /// A read-only opening creates no store.
    #[error("{} has no store", path.display())]
    Absent { path: PathBuf },
    #[error("store: {} holds a file that is not a store of this program: {why}", path.display())]
    NotAStore { path: PathBuf, why: String },
    #[error("store: {} is already open in this process", path.display())]
    InUse { path: PathBuf },
    #[error("store has schema version {version}, newer than the supported version {supported}")]
    NewerSchema { version: u32, supported: u32 },
    #[error("store {} {UNRELEASED}", path.display())]
    Unreleased { path: PathBuf },
    #[error("store belongs to the chain with id {chain_id}, expected {expected}")]
    OtherChain { chain_id: u64, expected: u64 },
    #[error("store belongs to the chain with genesis {genesis}, expected {expected}")]
    OtherGenesis { genesis: B256, expected: B256 },
    #[error("store: {} cannot be written to; open it read-only, or fix its permissions", path.display())]
    ReadOnlyDirectory { path: PathBuf },
    #[error("store is open read-only")]
    ReadOnly,
    /// Nothing of the failed write is in the store; earlier commits remain.
    #[error("store: the disk is full; the block is not stored, all earlier ones are")]
    DiskFull,
    /// Same as [`Self::DiskFull`], for the configured map size.
    #[error("store has reached its maximum size, {limit} bytes: increase the map size")]
    MapFull { limit: usize },
    #[error("store: {} ends after {length} of {expected} bytes: the rest is missing", path.display())]
    Truncated { path: PathBuf, length: u64, expected: u64 },
    #[error(
        "store: {} was moved, replaced or removed: writing stopped; move it back before the node stops",
        path.display()
    )]
    Moved { path: PathBuf },
    #[error("store: more than {limit} concurrent reads; raise the number of readers")]
    TooManyReaders { limit: u32 },
    /// An entry is not in a form that this program writes.
    #[error("store is damaged: table {table}, key {key}: {why}", key = hex::encode(key))]
    Damaged { table: &'static str, key: Vec<u8>, why: &'static str },
    /// The content of a page is not what was written. `key` is the key whose access read the page.
    #[error(
        "store is damaged: table {table}, key {key}: page {page} of data.mdb fails its checksum",
        key = hex::encode(key)
    )]
    DamagedPage { table: &'static str, key: Vec<u8>, page: u64 },
    #[error("store: block {number} cannot be written: {why}")]
    OutOfOrder { number: u64, why: &'static str },
    #[error("store: verification cancelled")]
    Interrupted,
    /// Blocks were unwound since the view was created: its results would mix two chains.
    #[error("view no longer available")]
    ViewGone,
    #[error("proofs are available from block {oldest} on; block {number} is older")]
    OutsideProofWindow { number: u64, oldest: u64 },
    #[error("store is damaged: {0}")]
    LogIndex(String),
    #[error("store is damaged: {0}")]
    State(String),
    #[error("store: {0}")]
    Lmdb(String),
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnlyDirectory { path }
            }
            _ => Self::Io { action, path, why: error.to_string() },
        }
    }

    /// Returns the error for a failed access to a key of a table.
    pub(crate) fn in_table(table: &'static str, key: &[u8], error: heed::Error) -> Self {
        match error {
            heed::Error::Mdb(error) if is_damage(error) => {
                Self::DamagedPage { table, key: key.to_vec(), page: bad_page() }
            }
            other => other.into(),
        }
    }

    /// Returns `true` if the store holds other content than was written.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. }
            | Self::DamagedPage { .. }
            | Self::LogIndex(_)
            | Self::State(_)
            | Self::Truncated { .. } => true,
            Self::Io { .. }
            | Self::Moved { .. }
            | Self::Absent { .. }
            | Self::NotAStore { .. }
            | Self::InUse { .. }
            | Self::NewerSchema { .. }
            | Self::Unreleased { .. }
            | Self::OtherChain { .. }
            | Self::OtherGenesis { .. }
            | Self::ReadOnlyDirectory { .. }
            | Self::ReadOnly
            | Self::DiskFull
            | Self::MapFull { .. }
            | Self::TooManyReaders { .. }
            | Self::OutOfOrder { .. }
            | Self::Interrupted
            | Self::ViewGone
            | Self::OutsideProofWindow { .. }
            | Self::Lmdb(_) => false,
        }
    }

    pub(crate) fn damaged(table: &'static str, key: &[u8], why: &'static str) -> Self {
        Self::Damaged { table, key: key.to_vec(), why }
    }
}

/// Name of the roots of the tables, which LMDB stores internally.
pub(crate) const ROOTS: &str = "roots";
/// Name of the list of free pages.
pub(crate) const FREE: &str = "free pages";

/// Returns `true` for the LMDB errors that mean unexpected page content.
fn is_damage(error: MdbError) -> bool {
    match error {
        MdbError::PageNotFound | MdbError::Corrupted | MdbError::CursorFull => true,
        // The transaction met a damaged page before; some LMDB functions do not propagate that error.
        MdbError::BadTxn => bad_page() != 0,
        _ => false,
    }
}

/// Returns the page that was found damaged in the newest transaction of this thread; 0 for none.
fn bad_page() -> u64 {
    // SAFETY: the function reads a thread-local number.
    unsafe { lmdb_master_sys::mdb_bad_page() as u64 }
}

impl From<heed::Error> for StoreError {
    fn from(error: heed::Error) -> Self {
        match error {
            heed::Error::Mdb(error) if is_damage(error) => Self::in_table(ROOTS, &[], error.into()),
            heed::Error::Io(error) => match error.kind() {
                // To the caller, a file size limit or a quota is the same as a full disk.
                io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => {
                    Self::DiskFull
                }
                _ => Self::Lmdb(error.to_string()),
            },
            heed::Error::Mdb(MdbError::MapFull) => Self::MapFull { limit: 0 },
            heed::Error::Mdb(MdbError::ReadersFull) => Self::TooManyReaders { limit: 0 },
            other => Self::Lmdb(other.to_string()),
        }
    }
}

impl From<LogIndexError> for StoreError {
    fn from(error: LogIndexError) -> Self {
        match error {
            LogIndexError::Lmdb(error) => Self::in_table("log_index", &[], error),
            LogIndexError::Damaged { .. } | LogIndexError::Disagrees { .. } | LogIndexError::Extra { .. } => {
                Self::LogIndex(error.to_string())
            }
        }
    }
}
