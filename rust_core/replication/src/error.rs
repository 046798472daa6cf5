//! Error of replication.

use std::{
    io,
    path::{Path, PathBuf},
};

use foreseal_chain::{ChainError, InvalidStoreMeta};
use foreseal_state::StateError;
use foreseal_store::StoreError;

/// Error of serving followers, or of starting to follow a sequencer.
#[derive(Debug, thiserror::Error)]
pub enum ReplicationError {
    #[error("cannot {what} {}: {why}", path.display())]
    Io { what: &'static str, path: PathBuf, why: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    StoreMeta(#[from] InvalidStoreMeta),
}

impl ReplicationError {
    pub(crate) fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), why: error.to_string() }
    }
}
