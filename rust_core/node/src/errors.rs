//! Error of a node.

use std::{
    io,
    path::{Path, PathBuf},
};

use foreseal_builder::BuildError;
use foreseal_journal::{JournalError, LockError};
use foreseal_primitives::GenesisError;
use foreseal_state::StateError;
use foreseal_store::StoreError;

use crate::{DamagedFile, KeyError, ProductionError, SettingsError, StartError, StoreFailed};
use foreseal_chain::{ChainError, ReplayError};

/// Error of opening, starting, running or stopping a node.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("{0}")]
    InUse(LockError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    #[error("{} holds no chain yet: give a genesis file with --genesis", datadir.display())]
    NoGenesis { datadir: PathBuf },
    #[error("{} holds a chain with another genesis than the one given", datadir.display())]
    OtherGenesis { datadir: PathBuf },
    #[error(
        "no block can follow the genesis given with --genesis: {why} (`foreseal genesis` prints one to begin with)"
    )]
    DeadGenesis { why: BuildError },
    #[error(transparent)]
    Damaged(#[from] DamagedFile),
    #[error("{} has format {found}, newer than {supported}, the newest this program reads", path.display())]
    NewerIdentity { path: PathBuf, found: u32, supported: u32 },
    #[error("cannot {what} {}: {why}", path.display())]
    Io { what: &'static str, path: PathBuf, why: String },
    #[error(transparent)]
    Read(#[from] StateError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    StoreFailed(#[from] StoreFailed),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Production(#[from] ProductionError),
}

impl NodeError {
    pub(crate) fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), why: error.to_string() }
    }

    pub(crate) fn from_lock(error: LockError) -> Self {
        Self::InUse(error)
    }
}
