//! Requests to the writer, other than transactions, from any thread.
//!
//! ```text
//!   Node::control -> lock of the Sequencer -> Draft -> append (durable) -> view (published) -> result
//! ```
//!
//! The caller's thread does the work under the writer's lock. So a result is returned only after the change
//! is durable and published. This holds whether a thread or the owner of the clock ticks the node.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use foreseal_builder::BuildError;
use foreseal_journal::JournalError;
use foreseal_state::StateError;
use parking_lot::Mutex;

use crate::{BlockSlot, Phase, ProductionError, StoreFailed, sequencer::Sequencer, shared::Shared};
use foreseal_chain::ChainError;

mod finality;
mod mine;
mod overrides;
mod rebuild;
mod reorg;
pub(crate) mod snapshots;
mod time;

/// Reasons why the writer did not serve a request. The chain is unchanged, except for [`Self::Failed`].
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("the node is starting: its journal is being replayed")]
    Starting,
    #[error("production stopped: {0}")]
    Stopped(String),
    #[error("this process follows the sequencer, which alone does this")]
    Follower,
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
    #[error("the clock cannot show {0}")]
    Clock(u64),
    #[error("{name} {given} would {wrong}")]
    Finality { name: &'static str, given: u64, wrong: &'static str },
    #[error("at most {max} {what} are allowed")]
    TooMany { what: &'static str, max: u64 },
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

/// Access to the sequencer of a node; empty before the journal is replayed and after a stop.
#[derive(Default)]
pub(crate) struct Control(Mutex<Option<Arc<Mutex<Sequencer>>>>);

impl Control {
    pub(crate) fn open(&self, sequencer: Arc<Mutex<Sequencer>>) {
        *self.0.lock() = Some(sequencer);
    }

    /// Waits until the store holds everything that was queued.
    pub(crate) fn drain(&self) -> Result<(), StoreFailed> {
        let sequencer = self.0.lock().clone();
        sequencer.map_or(Ok(()), |sequencer| sequencer.lock().drain())
    }

    /// Records durably that the journal ends here cleanly.
    pub(crate) fn close_journal(&self) -> Result<(), JournalError> {
        let sequencer = self.0.lock().clone();
        sequencer.map_or(Ok(()), |sequencer| sequencer.lock().close_journal())
    }

    /// Writes one batch to a store that has no thread. Returns `true` if there was work.
    pub(crate) fn write_store(&self) -> bool {
        let sequencer = self.0.lock().clone();
        sequencer.is_some_and(|sequencer| sequencer.lock().write_store())
    }

    /// Rejects requests from now on. Waits for the one in progress.
    pub(crate) fn close(&self) {
        let sequencer = self.0.lock().take();
        if let Some(sequencer) = sequencer {
            let _ended = sequencer.lock();
        }
    }

    pub(crate) fn run<T>(
        &self,
        shared: &Shared,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let Some(sequencer) = self.0.lock().clone() else {
            return Err(match shared.phase() {
                Phase::Replaying { .. } => ControlError::Starting,
                Phase::Failed(reason) => ControlError::Stopped(reason),
                Phase::Following | Phase::Disconnected(_) => ControlError::Follower,
                Phase::Producing | Phase::Serving | Phase::Stopped => {
                    ControlError::Stopped("the node is stopped".to_owned())
                }
            });
        };
        let mut sequencer = sequencer.lock();
        let _working = shared.activity.work();
        if let Some(reason) = sequencer.halted.clone().or_else(|| shared.failure()) {
            return Err(ControlError::Stopped(reason));
        }
        // After a panic in the middle of a change, the journal may hold records that the chain does not.
        let done = catch_unwind(AssertUnwindSafe(|| act(&mut sequencer))).unwrap_or_else(|_| {
            Err(ControlError::Failed(ProductionError::Halted("internal error in the writer".to_owned())))
        });
        let done = match done {
            Err(error) if sequencer.is_broken() => Err(ControlError::Failed(error.into_production())),
            done => done,
        };
        if let Err(ControlError::Failed(error)) = &done {
            sequencer.halted = Some(error.to_string());
            shared.set_phase(Phase::Failed(error.to_string()));
        }
        done
    }
}

impl Sequencer {
    /// Rejects requests that only a development chain allows.
    fn developing(&self) -> Result<(), ControlError> {
        if self.settings.development.is_some() { Ok(()) } else { Err(ControlError::NotDevelopment) }
    }

    /// Returns the slot of the block being built.
    ///
    /// # Errors
    /// Returns [`ControlError::NotProducing`] on a node that builds no blocks.
    fn producing(&self) -> Result<BlockSlot, ControlError> {
        self.slot.ok_or(ControlError::NotProducing)
    }
}
