//! Admission of transactions to the pool, at the newest view.

use std::sync::Arc;

use alloy_primitives::{Address, KECCAK256_EMPTY};
use foreseal_chain::View;
use foreseal_pool::{Admission, CheckedTransaction, PendingHead, UnverifiedTransaction};
use foreseal_replication::SubmitError;

use crate::shared::shared_state::SharedState;

impl SharedState {
    /// Checks a submission that is not verified yet against the state.
    pub(crate) fn precheck(&self, submission: &UnverifiedTransaction) -> Result<(), SubmitError> {
        let view = self.publication.view().ok_or(SubmitError::Starting)?;
        fetch_sender(&view, submission.sender());
        Ok(self.pool.precheck(submission, || self.publication.view().unwrap_or(view))?)
    }

    /// Adds a decoded transaction to the pool. If `runnable` is set, adds it only if it can run in the next
    /// step.
    pub(crate) fn admit(
        &self,
        submission: CheckedTransaction,
        runnable: bool,
    ) -> Result<Admission, SubmitError> {
        let view = self.publication.view().ok_or(SubmitError::Starting)?;
        fetch_sender(&view, submission.sender());
        let head = || self.publication.view().unwrap_or(view);
        let admission = if runnable {
            self.pool.add_if_executable(submission, head)?
        } else {
            Admission::Added(self.pool.add(submission, head)?)
        };
        self.publication.feed.arrived();
        Ok(admission)
    }

    /// Admits a submission that a follower forwarded.
    pub(crate) fn admit_forwarded(
        &self,
        submission: CheckedTransaction,
        runnable: bool,
    ) -> Result<Admission, SubmitError> {
        self.leadership.check_quorum(self.publication.age())?;
        if let Some(reason) = self.health.failure() {
            return Err(SubmitError::Stopped(reason));
        }
        self.admit(submission, runnable)
    }
}

/// Reads from the disk in advance what the pool reads under its lock, because a step may wait for that lock.
fn fetch_sender(view: &Arc<View>, sender: Address) {
    let state = view.state();
    // Errors are ignored here: the pool reports them when it reads the same data.
    if let Ok(Some(account)) = state.account(&sender)
        && account.code_hash != KECCAK256_EMPTY
    {
        let _ = state.code(&account.code_hash);
    }
}
