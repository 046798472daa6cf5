//! A backup as the source of a store.

use std::{error::Error, ops::ControlFlow, path::Path};

use alloy_primitives::B256;
use foreseal_store::StoredHead;

/// Progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    pub part: CopiedComponent,
    /// Bytes copied so far, and the maximum total.
    pub done: u64,
    pub of: u64,
}

/// Component that is being copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedComponent {
    Store,
    Journal,
}

/// Callback that receives the progress of a copy and may cancel it.
pub type CopyCallback<'a> = &'a mut dyn FnMut(CopyProgress) -> ControlFlow<()>;

/// Chain of a backup, and the position at which its store ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupEnd {
    pub chain_id: u64,
    pub genesis: B256,
    /// Newest block in the store; `None` if the store has no block yet.
    pub head: Option<StoredHead>,
    /// Sequence number of the journal append up to which the store is complete.
    pub journal_sequence: u64,
}

/// Error of reading a backup, as the backup's own code defines it.
pub type BackupFailure = Box<dyn Error + Send + Sync>;

/// A backup of a data directory, from which a repair restores the store.
pub trait StoreBackup {
    /// Reads where the backup ends.
    fn end(&self) -> Result<BackupEnd, BackupFailure>;

    /// Restores the backup to the data directory `datadir`, which must be new or empty. `map_size` is the maximum
    /// size of the store in bytes.
    fn restore(&self, datadir: &Path, map_size: usize, watch: CopyCallback<'_>) -> Result<(), BackupFailure>;
}
