//! Requests to the writer, other than transactions, from any thread.
//!
//! ```text
//!   Node::control -> lock of the Sequencer -> ChainDraft -> append (durable) -> view (published) -> result
//! ```
//!
//! The caller's thread does the work under the writer's lock. So a result is returned only after the change
//! is durable and published. This holds whether a thread or the owner of the clock ticks the node.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use foreseal_journal::JournalError;
use foreseal_replication::Phase;
use parking_lot::Mutex;

use crate::{
    BlockSlot, ControlError, ProductionError, StoreFailed, sequencer::Sequencer, shared_state::SharedState,
};

mod driver;
mod finality;
mod mine;
mod overrides;
mod rebuild;
mod reorg;
pub(crate) mod snapshots;
mod time;

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
        shared: &SharedState,
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
        Self::run_locked(&mut sequencer.lock(), shared, act)
    }

    /// Does the same as [`Self::run`], but waits at most `wait` for the sequencer, which may wait for a quorum.
    pub(crate) fn run_within<T>(
        &self,
        wait: Duration,
        shared: &SharedState,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let sequencer = self.0.lock().clone().ok_or(ControlError::Starting)?;
        let Some(mut sequencer) = sequencer.try_lock_for(wait) else { return Err(ControlError::Busy) };
        Self::run_locked(&mut sequencer, shared, act)
    }

    fn run_locked<T>(
        sequencer: &mut Sequencer,
        shared: &SharedState,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let _working = shared.activity.work();
        if !shared.leads() {
            return Err(ControlError::Follower);
        }
        if let Some(reason) = sequencer.halted.clone().or_else(|| shared.failure()) {
            return Err(ControlError::Stopped(reason));
        }
        // After a panic in the middle of a change, the journal may hold records that the chain does not.
        let done = catch_unwind(AssertUnwindSafe(|| act(sequencer))).unwrap_or_else(|_| {
            Err(ControlError::Failed(ProductionError::Halted("internal error in the writer".to_owned())))
        });
        let done = match done {
            Err(error) if sequencer.is_broken() => Err(ControlError::Failed(error.into_production())),
            done => done,
        };
        if let Err(ControlError::Failed(error)) = &done
            && !error.is_loss_of_ownership()
        {
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
