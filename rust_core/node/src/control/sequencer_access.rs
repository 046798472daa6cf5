//! Requests to the sequencer, other than transactions, from any thread.
//!
//! ```text
//!   Node::control -> lock of the Sequencer -> ChainDraft -> append (durable) -> view (published) -> result
//! ```
//!
//! The caller's thread does the work under the sequencer's lock. So a result is returned only after the change
//! is durable and published. This holds whether a thread or the owner of the clock ticks the node.
//!
//! A long command runs in slices and releases the lock between them, so that ticks and a stop need not wait for it.
//! Other commands do wait; ticks only renew the freshness until it ends.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use foreseal_journal::JournalError;
use foreseal_replication::Phase;
use parking_lot::{Mutex, MutexGuard};

use crate::{
    control::sequencer::Sequencer,
    errors::{
        production_error::{ControlError, ProductionError},
        store_failed::StoreFailed,
    },
    shared::shared_state::SharedState,
};

/// Access to the sequencer of a node.
#[derive(Default)]
pub(crate) struct SequencerAccess {
    /// `None` before the journal is replayed and after a stop.
    sequencer: Mutex<Option<Arc<Mutex<Sequencer>>>>,
    /// Held by the command that runs.
    command: Mutex<()>,
}

impl SequencerAccess {
    pub(crate) fn open(&self, sequencer: Arc<Mutex<Sequencer>>) {
        *self.sequencer.lock() = Some(sequencer);
    }

    /// Waits until the store holds everything that was queued.
    pub(crate) fn drain(&self) -> Result<(), StoreFailed> {
        let sequencer = self.sequencer.lock().clone();
        sequencer.map_or(Ok(()), |sequencer| sequencer.lock().producer.writer.drain())
    }

    /// Records durably that the journal ends here cleanly.
    pub(crate) fn close_journal(&self) -> Result<(), JournalError> {
        let sequencer = self.sequencer.lock().clone();
        sequencer.map_or(Ok(()), |sequencer| sequencer.lock().producer.writer.close_journal())
    }

    /// Writes one batch to a store that has no thread. Returns `true` if there was work.
    pub(crate) fn write_store(&self) -> bool {
        let sequencer = self.sequencer.lock().clone();
        sequencer.is_some_and(|sequencer| sequencer.lock().producer.writer.write_store())
    }

    /// Rejects requests from now on. Waits for the one in progress.
    pub(crate) fn close(&self) {
        let sequencer = self.sequencer.lock().take();
        if let Some(sequencer) = sequencer {
            let _ended = sequencer.lock();
        }
    }

    pub(crate) fn run<T>(
        &self,
        shared: &SharedState,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let _command = self.command.lock();
        self.run_between_slices(shared, act)
    }

    /// Does the same as [`Self::run`], and waits only for the current slice of a long command.
    pub(crate) fn run_between_slices<T>(
        &self,
        shared: &SharedState,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let sequencer = self.sequencer(shared)?;
        Self::run_locked(&mut sequencer.lock(), shared, act)
    }

    /// Runs a long command in slices until one returns `true`, with the lock released between them. The changes of
    /// completed slices stay.
    ///
    /// # Errors
    /// Returns [`ControlError::Interrupted`] if `keep_going` returns `false` or the node ends its commands.
    pub(crate) fn run_slices(
        &self,
        shared: &SharedState,
        keep_going: &mut dyn FnMut() -> bool,
        slice: &mut dyn FnMut(&mut Sequencer) -> Result<bool, ControlError>,
    ) -> Result<(), ControlError> {
        let _command = self.command.lock();
        let sequencer = self.sequencer(shared)?;
        let _running = shared.commands.begin();
        loop {
            if shared.commands.are_ended() || shared.stop.is_stopping() || !keep_going() {
                return Err(ControlError::Interrupted);
            }
            let mut locked = sequencer.lock();
            if Self::run_locked(&mut locked, shared, &mut *slice)? {
                return Ok(());
            }
            // A thread that waits is next, even if this one asks again at once.
            MutexGuard::unlock_fair(locked);
        }
    }

    fn sequencer(&self, shared: &SharedState) -> Result<Arc<Mutex<Sequencer>>, ControlError> {
        let sequencer = self.sequencer.lock().clone();
        sequencer.ok_or_else(|| match shared.health.phase() {
            Phase::Replaying { .. } => ControlError::Starting,
            Phase::Failed(reason) => ControlError::Stopped(reason),
            Phase::Following | Phase::Disconnected(_) => ControlError::Follower,
            Phase::Producing | Phase::Serving | Phase::Stopped => {
                ControlError::Stopped("the node is stopped".to_owned())
            }
        })
    }

    /// Does the same as [`Self::run`], but waits at most `wait` for the sequencer, which may wait for a quorum.
    pub(crate) fn run_within<T>(
        &self,
        wait: Duration,
        shared: &SharedState,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let sequencer = self.sequencer.lock().clone().ok_or(ControlError::Starting)?;
        let Some(mut sequencer) = sequencer.try_lock_for(wait) else { return Err(ControlError::Busy) };
        Self::run_locked(&mut sequencer, shared, act)
    }

    fn run_locked<T>(
        sequencer: &mut Sequencer,
        shared: &SharedState,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let _working = shared.activity.work();
        if !shared.leadership.leads() {
            return Err(ControlError::Follower);
        }
        if let Some(reason) = sequencer.producer.writer.failure() {
            return Err(ControlError::Stopped(reason));
        }
        // After a panic in the middle of a change, the journal may hold records that the chain does not.
        let done = catch_unwind(AssertUnwindSafe(|| act(sequencer))).unwrap_or_else(|_| {
            Err(ControlError::Failed(ProductionError::Halted("internal error in the writer".to_owned())))
        });
        let done = match done {
            Err(error) if sequencer.producer.is_broken() => {
                Err(ControlError::Failed(error.into_production()))
            }
            done => done,
        };
        if let Err(ControlError::Failed(error)) = &done
            && !error.is_loss_of_ownership()
        {
            sequencer.producer.writer.halted = Some(error.to_string());
            shared.health.set_phase(Phase::Failed(error.to_string()));
        }
        done
    }
}
