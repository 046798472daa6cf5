//! Submissions: taken into the pool where the chain is written, sent there by a follower.

use std::sync::Arc;

use alloy_primitives::{B256, KECCAK256_EMPTY};
use foreseal_pool::{
    Admission, PendingHead, PoolError, Rules, Submission, decode_submission, impersonated_submission,
};
use foreseal_types::Transaction;

use crate::{Node, SubmitError, Underway, View, node::Part, shared::Shared};

/// What became of a submission.
#[derive(Debug)]
pub enum Sent {
    /// It was admitted, or would have to wait and was not kept.
    Done(Admission),
    /// It is on its way to the sequencer, and the answer will be there.
    Underway(Underway),
}

impl Node {
    /// Takes a signed transaction into the pool. Decoding, recovery and blob proofs happen here, on the caller's
    /// thread; only then the pool is locked. On a follower it waits for the sequencer; who must not, calls [`Self::send`].
    ///
    /// The view is read under the pool's lock: a view is published before its transactions leave the pool, so a
    /// transaction is always seen in one of the two.
    pub fn submit(&self, raw: &[u8]) -> Result<B256, SubmitError> {
        let submission = self.decode(raw)?;
        let hash = submission.hash();
        match self.send(submission, false)? {
            Sent::Done(_) => Ok(hash),
            Sent::Underway(underway) => underway.wait().map(|_| hash),
        }
    }

    /// The first half of [`Self::submit`]: everything that needs no state.
    pub fn decode(&self, raw: &[u8]) -> Result<Submission, SubmitError> {
        self.check(|rules| decode_submission(raw, rules))
    }

    /// Takes a transaction that nobody signed into the pool: see [`Transaction::impersonated`].
    ///
    /// # Errors
    /// As [`Self::submit`], and on chains that are not for development.
    pub fn submit_impersonated(&self, transaction: Transaction) -> Result<B256, SubmitError> {
        if self.settings().development.is_none() {
            return Err(PoolError::Signature.into());
        }
        let submission = self.check(|rules| impersonated_submission(transaction, rules))?;
        let hash = submission.hash();
        self.shared.admit(submission, false).map(|_| hash)
    }

    fn check(
        &self,
        check: impl FnOnce(&Rules) -> Result<Submission, PoolError>,
    ) -> Result<Submission, SubmitError> {
        self.check_production()?;
        let view = self.view().ok_or(SubmitError::Starting)?;
        Ok(check(&self.pool().rules(self.spec(), &view.pending().block.header))?)
    }

    /// Whether what comes in, or is in the pool, may yet be executed: production has not failed.
    pub fn check_production(&self) -> Result<(), SubmitError> {
        let failure = match &self.part {
            Part::Writer(_) => self.shared.failure(),
            Part::Follower(following) => self.shared.failure().or_else(|| following.failure()),
        };
        failure.map_or(Ok(()), |reason| Err(SubmitError::Stopped(reason)))
    }

    /// The second half of [`Self::submit`]; with `runnable` a transaction that cannot run in the next step is not kept. Never
    /// waits: a follower sends it on, and has applied what it did to the pool before its answer is there.
    pub fn send(&self, submission: Submission, runnable: bool) -> Result<Sent, SubmitError> {
        match &self.part {
            Part::Writer(_) => self.shared.admit(submission, runnable).map(Sent::Done),
            Part::Follower(following) => following.send(&submission, runnable).map(Sent::Underway),
        }
    }
}

impl Shared {
    /// Takes a decoded transaction into the pool; with `runnable` if it can run in the next step, and not otherwise.
    pub(crate) fn admit(&self, submission: Submission, runnable: bool) -> Result<Admission, SubmitError> {
        let view = self.view().ok_or(SubmitError::Starting)?;
        fetch_sender(&view, &submission);
        let head = || self.view().unwrap_or(view);
        let admission = if runnable {
            self.pool.add_runnable(submission, head)?
        } else {
            Admission::Added(self.pool.add(submission, head)?)
        };
        self.feed.arrived();
        Ok(admission)
    }

    /// Admits what a follower sent.
    pub(crate) fn admit_forwarded(
        &self,
        submission: &[u8],
        runnable: bool,
    ) -> Result<Admission, SubmitError> {
        if let Some(reason) = self.failure() {
            return Err(SubmitError::Stopped(reason));
        }
        let decode = |error: alloy_rlp::Error| PoolError::Decode(error.to_string());
        let submission = Submission::decode(submission).map_err(decode)?;
        self.admit(submission, runnable)
    }
}

/// Reads from the disk what the pool is going to ask under its lock, where a step may have to wait for it.
fn fetch_sender(view: &Arc<View>, submission: &Submission) {
    let state = view.state();
    // What cannot be read is for the pool to say.
    if let Ok(Some(account)) = state.account(&submission.sender())
        && account.code_hash != KECCAK256_EMPTY
    {
        let _ = state.code(&account.code_hash);
    }
}
