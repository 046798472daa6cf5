//! Errors of a member of a cluster.

use foreseal_quorum::{FenceError, QuorumStoreError, TailError};
use foreseal_replication::CopyError;

use crate::errors::production_error::ProductionError;

/// Reasons why a member cannot follow the quorum journal or take over.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(transparent)]
    QuorumStore(#[from] QuorumStoreError),
    #[error("cannot catch up from the quorum journal: {0}")]
    Tail(TailError),
    #[error("cannot catch up from the quorum journal: {0}")]
    Copy(#[from] CopyError),
    /// The quorum store has lost acknowledged appends, or its keys belong to another chain.
    #[error(
        "the journal here ends before append {next}, but the quorum journal ends with append {head}: the quorum has lost \
         acknowledged appends; restore it from this journal with `foreseal journal import`"
    )]
    LocalAhead { next: u64, head: u64 },
    #[error(
        "append {sequence} here differs from that of the quorum journal: this data directory belongs to another \
         history; start with an empty one"
    )]
    Diverged { sequence: u64 },
    /// The feed delivered appends of a newer owner.
    #[error("append {sequence} of another process arrived during the takeover: that process owns the chain")]
    Overtaken { sequence: u64 },
    #[error(
        "the quorum journal is empty, but the journal here has {next} appends: if no other member has more, write them to it \
         with `foreseal journal import`"
    )]
    EmptyStore { next: u64 },
    #[error(transparent)]
    Fence(#[from] FenceError),
    #[error(transparent)]
    Production(#[from] ProductionError),
}

impl From<TailError> for ClusterError {
    fn from(error: TailError) -> Self {
        match error {
            TailError::QuorumStore(error) => Self::QuorumStore(error),
            error => Self::Tail(error),
        }
    }
}

impl ClusterError {
    /// Returns `true` if the next attempt may succeed without a change by the operator.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::QuorumStore(_)
            | Self::Fence(_)
            | Self::Overtaken { .. }
            | Self::Tail(TailError::TooOld { .. }) => true,
            Self::Tail(_)
            | Self::Copy(_)
            | Self::LocalAhead { .. }
            | Self::Diverged { .. }
            | Self::EmptyStore { .. } => false,
            Self::Production(error) => error.is_loss_of_ownership(),
        }
    }
}
