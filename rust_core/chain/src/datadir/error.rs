//! Errors of a data directory.

use std::{
    io,
    path::{Path, PathBuf},
};

use foreseal_journal::LockError;
use foreseal_primitives::GenesisError;

use super::checked_file::DamagedFile;

/// Error of locking a data directory, or of reading or writing its files.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("{0}")]
    InUse(LockError),
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    #[error("{} has no chain yet: pass a genesis file with --genesis", datadir.display())]
    NoGenesis { datadir: PathBuf },
    #[error("{} has a chain with another genesis", datadir.display())]
    OtherGenesis { datadir: PathBuf },
    #[error(transparent)]
    Damaged(#[from] DamagedFile),
    #[error("{} has format {version}, newer than the supported version {supported}", path.display())]
    NewerIdentity { path: PathBuf, version: u32, supported: u32 },
    #[error("cannot {what} {}: {why}", path.display())]
    Io { what: &'static str, path: PathBuf, why: String },
}

impl DataDirError {
    /// Returns the error of the file operation `what` on `path`.
    pub fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), why: error.to_string() }
    }
}
