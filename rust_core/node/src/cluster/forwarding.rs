//! Submissions that come from a follower, or pass through a process which follows another one.

use foreseal_pool::{CheckedTransaction, PoolError, decode_unverified};
use foreseal_primitives::{
    ChainSpec,
    wire::{decode, to_vec},
};
use foreseal_replication::{FollowerClient, SubmissionCallback, SubmitError};

use crate::shared::shared_state::SharedState;

/// Decodes a submission that a worker of this node has checked.
pub(crate) fn decode_forwarded(submission: &[u8]) -> Result<CheckedTransaction, SubmitError> {
    Ok(decode(submission).map_err(|error| PoolError::Decode(error.to_string()))?)
}

/// Passes a submission on to the process that `client` follows.
pub(crate) fn pass_on(
    client: &FollowerClient,
    checked: &CheckedTransaction,
    runnable: bool,
    reply: SubmissionCallback,
) {
    client.forward(checked.hash(), to_vec(checked).into(), runnable, reply);
}

impl SharedState {
    /// Checks a submission of another machine like that of a client: the signers that it states are not trusted.
    pub(crate) fn check_foreign(
        &self,
        submission: &[u8],
        spec: &ChainSpec,
    ) -> Result<CheckedTransaction, SubmitError> {
        let view = self.publication.view().ok_or(SubmitError::Starting)?;
        let rules = self.pool.rules(spec, &view.pending().block.header);
        let submission = decode_unverified(&decode_forwarded(submission)?.encoded(), &rules)?;
        if !submission.verification_time().is_zero() {
            self.precheck(&submission)?;
        }
        Ok(submission.verify()?)
    }
}
