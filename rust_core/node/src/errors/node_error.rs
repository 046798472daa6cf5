//! Error of a node.

use std::{
    io,
    path::{Path, PathBuf},
};

use foreseal_builder::BuildError;
use foreseal_chain::{ChainError, ReplayError, datadir::DataDirError};
use foreseal_journal::JournalError;
use foreseal_replication::{CredentialError, ReplicationError};
use foreseal_state::StateError;
use foreseal_store::StoreError;

use crate::{
    errors::{
        cluster_error::ClusterError, key_error::KeyError, production_error::ProductionError,
        start_error::StartError, store_failed::StoreFailed,
    },
    settings::SettingsError,
};

/// Error of opening, starting, running or stopping a node.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(
        "no block can follow the genesis of --genesis: {why} (`foreseal genesis` prints one to begin with)"
    )]
    DeadGenesis { why: BuildError },
    #[error(
        "no block can follow the genesis of --genesis: it lacks contracts that each block calls under its rules: \
         {contracts} (`foreseal genesis` prints one to begin with)"
    )]
    MissingSystemContracts { contracts: String },
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
    Replication(#[from] ReplicationError),
    #[error(transparent)]
    Production(#[from] ProductionError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Credentials(#[from] CredentialError),
}

impl NodeError {
    pub(crate) fn io(what: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), why: error.to_string() }
    }
}
