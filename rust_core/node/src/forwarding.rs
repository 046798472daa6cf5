//! Submissions that pass through a process which follows another one.

use alloy_primitives::Bytes;
use foreseal_pool::{CheckedTransaction, PoolError};
use foreseal_primitives::wire::decode;
use foreseal_replication::{FollowerClient, SubmissionCallback};

/// Passes on a submission that a follower forwarded, to the process that `client` follows.
pub(crate) fn pass_on(client: &FollowerClient, submission: Bytes, runnable: bool, reply: SubmissionCallback) {
    let decoded: Result<CheckedTransaction, _> = decode(&submission);
    match decoded {
        Ok(checked) => client.forward(checked.hash(), submission, runnable, reply),
        Err(error) => reply(Err(PoolError::Decode(error.to_string()).into())),
    }
}
