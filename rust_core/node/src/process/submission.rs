//! Submissions: the sequencer adds them to its pool, a follower forwards them.

use alloy_primitives::B256;
use foreseal_pool::{
    Admission, CheckedTransaction, PoolError, Rules, UnverifiedTransaction, decode_unverified,
    impersonated_submission,
};
use foreseal_primitives::Transaction;
use foreseal_replication::{SubmissionHandle, SubmitError};

use crate::process::node::{Node, NodeRole};

/// Outcome of a submission.
#[derive(Debug)]
pub enum Sent {
    /// The pool has decided: the transaction was admitted, or it was not runnable and was not retained.
    Done(Admission),
    /// The submission was forwarded to the sequencer; the handle receives the answer.
    SubmissionHandle(SubmissionHandle),
}

impl Node {
    /// Submits a signed transaction to the pool. Decoding, signature recovery and blob proof checks run on
    /// the caller's thread while the pool is not locked. The minimum tip and the maximum gas of the pool do not
    /// apply: a development node submits for its own accounts. On a follower this blocks until the sequencer
    /// answers; callers that must not block use [`Self::send`].
    ///
    /// The view is read under the pool's lock. A view is published before its transactions leave the pool, so
    /// a transaction is always visible in at least one of the two.
    pub fn submit(&self, raw: &[u8]) -> Result<B256, SubmitError> {
        let submission = self.check(|rules| decode_unverified(raw, &rules.without_policy()))?;
        let hash = submission.hash();
        if !submission.verification_time().is_zero() {
            self.precheck(&submission)?;
        }
        match self.send(submission.verify()?, false)? {
            Sent::Done(_) => Ok(hash),
            Sent::SubmissionHandle(underway) => underway.wait().map(|_| hash),
        }
    }

    /// Performs the first part of [`Self::submit`]: all checks that need no state, except the slow ones
    /// ([`UnverifiedTransaction::verify`]).
    pub fn decode(&self, raw: &[u8]) -> Result<UnverifiedTransaction, SubmitError> {
        self.check(|rules| decode_unverified(raw, rules))
    }

    /// Checks a submission that is not verified yet against the state, and adds nothing. So one that
    /// [`Self::send`] would reject is not verified. A follower checks against its own view and pool.
    pub fn precheck(&self, submission: &UnverifiedTransaction) -> Result<(), SubmitError> {
        self.shared.precheck(submission)
    }

    /// Adds an unsigned transaction to the pool: see [`Transaction::impersonated`].
    ///
    /// # Errors
    /// Returns the errors of [`Self::submit`]. Also fails on chains that are not for development.
    pub fn submit_impersonated(&self, transaction: Transaction) -> Result<B256, SubmitError> {
        if self.settings().development.is_none() {
            return Err(PoolError::Signature.into());
        }
        let submission = self.check(|rules| impersonated_submission(transaction, rules))?;
        let hash = submission.hash();
        self.admit(submission, false).map(|_| hash)
    }

    /// Adds a submission to the pool. Under automine, its block is sealed when this returns.
    fn admit(&self, submission: CheckedTransaction, runnable: bool) -> Result<Admission, SubmitError> {
        let admission = self.shared.admit(submission, runnable)?;
        // The submission does not wait for the end of a long command.
        if self.shared.is_automine()
            && let NodeRole::Writer(writing) = &self.part
            && let Err(error) = writing
                .control
                .run_between_slices(&self.shared, |writer| writer.producer.seal_executable(&mut || true))
        {
            // The transaction is in the pool; a failure of the writer is reported by health checks.
            tracing::warn!(%error, "failed to seal a submission");
        }
        Ok(admission)
    }

    fn check<T>(&self, check: impl FnOnce(&Rules) -> Result<T, PoolError>) -> Result<T, SubmitError> {
        self.check_production()?;
        let view = self.view().ok_or(SubmitError::Starting)?;
        Ok(check(&self.pool().rules(self.spec(), &view.pending().block.header))?)
    }

    /// Returns `true` while each submission is sealed before its call returns. A follower does not know the mode of the
    /// writer, and returns `false`.
    pub fn is_automine(&self) -> bool {
        self.shared.is_automine()
    }

    /// Checks that production has not failed, so that transactions can still be executed.
    pub fn check_production(&self) -> Result<(), SubmitError> {
        self.shared.leadership.check_quorum(self.shared.publication.age())?;
        let failure = self.shared.health.failure().or_else(|| self.following()?.failure());
        failure.map_or(Ok(()), |reason| Err(SubmitError::Stopped(reason)))
    }

    /// Performs the last part of [`Self::submit`]. If `runnable` is set, a transaction that cannot run in
    /// the next step is not retained. Never waits for an answer: a follower forwards the transaction, and
    /// applies the resulting pool change before it delivers the answer.
    pub fn send(&self, submission: CheckedTransaction, runnable: bool) -> Result<Sent, SubmitError> {
        match self.following() {
            None => self.admit(submission, runnable).map(Sent::Done),
            Some(following) => following.send(&submission, runnable).map(Sent::SubmissionHandle),
        }
    }
}
