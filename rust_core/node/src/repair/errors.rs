//! Error of a store repair.

use std::path::PathBuf;

use foreseal_chain::datadir::{BackupFailure, DataDirError};
use foreseal_journal::{JournalError, OfflineError};
use foreseal_store::StoreError;

use crate::{errors::node_error::NodeError, repair::source::SourceError};

/// Error of a store repair.
#[derive(Debug, thiserror::Error)]
pub enum StoreRepairError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Backup(#[from] BackupFailure),
    #[error(transparent)]
    Journal(#[from] OfflineError),
    #[error("{} is from an earlier repair: remove it first", .0.display())]
    Unfinished(PathBuf),
    #[error("the store cannot be repaired: {0}")]
    Impossible(String),
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl From<DataDirError> for StoreRepairError {
    fn from(error: DataDirError) -> Self {
        Self::Node(error.into())
    }
}

impl From<JournalError> for StoreRepairError {
    fn from(error: JournalError) -> Self {
        Self::Node(error.into())
    }
}

impl From<StoreError> for StoreRepairError {
    fn from(error: StoreError) -> Self {
        Self::Node(error.into())
    }
}
