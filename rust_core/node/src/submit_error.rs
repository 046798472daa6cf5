//! Error of a submission.

use alloy_primitives::B256;
use foreseal_pool::PoolError;

/// Reasons why a submission is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Refused(#[from] PoolError),
    #[error("the node is starting: its journal is being replayed")]
    Starting,
    /// Production stopped: this process executes no new submissions and no transactions in the pool.
    #[error("production stopped, so no transactions are taken: {0}")]
    Stopped(String),
    /// This follower has no connection to its sequencer.
    #[error("the sequencer is not reachable: nothing is taken in until it is back")]
    Away,
    /// The connection broke before the sequencer answered.
    #[error(
        "the sequencer was lost before it answered: it is not known whether the transaction was taken in"
    )]
    Unknown { hash: B256 },
    #[error("too many submissions are on their way to the sequencer: at most {max}")]
    Busy { max: u64 },
}
