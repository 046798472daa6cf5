//! The destination of a copy.

use foreseal_journal::Identity;

use crate::{error::BackupError, files::ManifestFile};

/// Chain of a copy, and its size in bytes as far as it is known at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyStart {
    pub identity: Identity,
    /// Maximum size of the store.
    pub store: u64,
    /// Size of the journal; it grows while the store is copied.
    pub journal: u64,
}

/// Destination of the files of a data directory, which arrive one after the other.
pub(crate) trait CopySink {
    /// Begins the copy.
    fn start(&mut self, start: CopyStart) -> Result<(), BackupError>;

    /// Begins the file with this path, relative to the data directory.
    fn create(&mut self, path: &str) -> Result<(), BackupError>;

    /// Appends to the file that was begun last.
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError>;

    /// Ends that file.
    fn finish(&mut self) -> Result<ManifestFile, BackupError>;
}
