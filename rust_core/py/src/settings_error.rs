//! Errors of invalid settings.

use std::path::PathBuf;

use foreseal_engine::SecretError;
use foreseal_primitives::GenesisError;
use foreseal_quorum::{EtcdSetupError, InvalidEtcdUrl};
use foreseal_replication::InvalidFeedAddress;

use crate::accounts::AccountsError;
use crate::log::LogLevelError;

/// Errors of invalid settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("settings: {0}")]
    Json(#[from] serde_json::Error),
    #[error("genesis {}: {error}", path.display())]
    GenesisFile { path: PathBuf, error: std::io::Error },
    #[error("genesis {}: {error}", path.display())]
    Genesis { path: PathBuf, error: GenesisError },
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("settings: threads must be at least 1")]
    NoThreads,
    #[error("block time must be a whole number of seconds, got {0}ms")]
    BlockTime(u64),
    #[error("settings: a process serves followers (feed) or follows (follow), not both")]
    FeedAndFollow,
    #[error("genesis: {0}")]
    ChainSpec(String),
    #[error("{0}")]
    Cluster(&'static str),
    #[error(transparent)]
    FeedAddress(#[from] InvalidFeedAddress),
    #[error(transparent)]
    EtcdUrl(#[from] InvalidEtcdUrl),
    #[error(transparent)]
    Etcd(#[from] EtcdSetupError),
    #[error("{0}; --journal-force accepts it, for tests")]
    QuorumSetup(String),
    #[error(transparent)]
    EngineSecret(#[from] SecretError),
    #[error("cannot listen for the driver at {address} (engine): {error}")]
    EngineListener { address: String, error: std::io::Error },
    #[error("cannot listen for readers of flashblocks at {address} (flashblocks_ws): {error}")]
    FlashblocksListener { address: String, error: std::io::Error },
    #[error("unknown fork {0}: write it as the vectors do, such as Cancun")]
    Fork(String),
    #[error(transparent)]
    LogLevel(#[from] LogLevelError),
}
