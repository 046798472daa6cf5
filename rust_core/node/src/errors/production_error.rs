//! Errors of the writer: of production, and of a request that changes the chain.

use foreseal_builder::BuildError;
use foreseal_chain::ChainError;
use foreseal_journal::JournalError;
use foreseal_state::StateError;

use crate::errors::store_failed::StoreFailed;

/// Reasons why production ended.
#[derive(Debug, thiserror::Error)]
pub enum ProductionError {
    #[error("cannot write the journal: pre-confirmation stopped: {0}")]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    State(#[from] StateError),
    /// The store failed. No data is lost: the journal has what the store lacks.
    #[error(transparent)]
    Store(#[from] StoreFailed),
    /// The newest sealed block is ahead of the clock. Other members of a cluster may have another clock.
    #[error(
        "the newest block is {lead} s ahead of the clock, limit {limit} s: correct the clock, or raise --max-clock-lead so \
         that the lead is worked off"
    )]
    AheadOfClock { lead: u64, limit: u64 },
    /// Production is halted: an earlier change failed midway, or the node has recorded a failure.
    #[error("{0}")]
    Halted(String),
}

impl ProductionError {
    /// Returns `true` if production on this machine has failed for good.
    pub(crate) fn is_failure(&self) -> bool {
        !self.is_loss_of_ownership() && !matches!(self, Self::AheadOfClock { .. })
    }

    /// Returns `true` if another process writes the chain, or may: nothing here has failed.
    pub(crate) fn is_loss_of_ownership(&self) -> bool {
        matches!(self, Self::Journal(JournalError::Superseded { .. } | JournalError::Interrupted))
    }
}

/// Reasons why the writer did not serve a request. The chain is unchanged, except for [`Self::Failed`].
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("the node is starting: its journal is being replayed")]
    Starting,
    #[error("production stopped: {0}")]
    Stopped(String),
    #[error("the command was ended before its last block: its caller is gone, or the node stops")]
    Interrupted,
    #[error("only the sequencer supports this; this process follows it")]
    Follower,
    #[error("the writer is waiting for the quorum of its journal: try again once it answers")]
    Busy,
    #[error("this node has no quorum journal: there is nothing to hand over")]
    NoQuorum,
    #[error("this node produces no blocks")]
    NotProducing,
    #[error("only development chains allow this")]
    NotDevelopment,
    #[error("block {0} is not on the chain")]
    NoSuchBlock(u64),
    #[error("block {number} is below the finalized block {finalized}")]
    Finalized { number: u64, finalized: u64 },
    #[error("Timestamp error: {timestamp} is not after the previous block's timestamp {previous}")]
    Timestamp { timestamp: u64, previous: u64 },
    #[error("the clock cannot represent {0}")]
    Clock(u64),
    #[error("{name} {given} would {wrong}")]
    Finality { name: &'static str, given: u64, wrong: &'static str },
    #[error("at most {max} {what} are allowed")]
    TooMany { what: &'static str, max: u64 },
    #[error("no driver builds the blocks of this node: start it with --engine")]
    NoDriver,
    #[error("{0}")]
    ForkChoice(String),
    #[error("{0}")]
    Attributes(String),
    #[error("refused: {0}")]
    Refused(String),
    #[error(transparent)]
    Failed(ProductionError),
}

impl ControlError {
    /// Converts the error to one of a tick, which has no caller to report to.
    pub(crate) fn into_production(self) -> ProductionError {
        match self {
            Self::Failed(error) => error,
            error => ProductionError::Halted(error.to_string()),
        }
    }
}

impl From<BuildError> for ControlError {
    fn from(error: BuildError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<ChainError> for ControlError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::NotOnChain { number } => Self::NoSuchBlock(number),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl From<StateError> for ControlError {
    fn from(error: StateError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<ProductionError> for ControlError {
    fn from(error: ProductionError) -> Self {
        match error {
            // The append was rejected before anything was written.
            ProductionError::Journal(error @ JournalError::TooLarge { .. }) => {
                Self::Refused(error.to_string())
            }
            error => Self::Failed(error),
        }
    }
}
