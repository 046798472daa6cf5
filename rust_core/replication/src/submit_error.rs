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
    #[error("production stopped, so no transactions are accepted: {0}")]
    Stopped(String),
    /// This follower has no connection to its sequencer.
    #[error("the sequencer is not reachable: no transactions are accepted until it is back")]
    Away,
    /// The quorum of the journal has not confirmed for a second that this process writes the chain.
    #[error(
        "the quorum of the journal has not answered for {age_ms} ms: no transactions are accepted until it does"
    )]
    NoQuorum { age_ms: u64 },
    /// The connection broke before the sequencer answered.
    #[error(
        "the connection to the sequencer was lost before its response: the transaction may have been accepted"
    )]
    Unknown { hash: B256 },
    #[error("too many submissions in flight to the sequencer: at most {max}")]
    Busy { max: u64 },
}
