//! Error of replication.

use foreseal_chain::{ChainError, InvalidStoreMeta};
use foreseal_state::StateError;
use foreseal_store::StoreError;

use crate::transport::FeedAddress;

/// Error of serving followers, or of starting to follow a sequencer.
#[derive(Debug, thiserror::Error)]
pub enum ReplicationError {
    #[error("cannot start the thread {name}: {why}")]
    Thread { name: &'static str, why: String },
    #[error("cannot listen for followers at {address}: {why}")]
    Listen { address: FeedAddress, why: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    StoreMeta(#[from] InvalidStoreMeta),
}
