//! Status of a transaction in the pool.

use alloy_primitives::{B256, U256};
use serde::{Deserialize, Serialize};

/// Status of a transaction. The view has the status of pre-confirmed and sealed transactions, and takes
/// precedence.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Status {
    /// Can run in the next step.
    Pooled,
    /// Waits for this condition.
    Queued(QueuedReason),
    /// Left the pool without being included.
    Dropped(DropReason),
    /// Outbid by another transaction with the same sender and nonce.
    Replaced { by: B256 },
    /// Never seen, included, or dropped so long ago that the record is evicted.
    Unknown,
}

/// Condition that a queued transaction waits for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Deserialize, Serialize)]
pub enum QueuedReason {
    #[error("waits for the transaction with nonce {expected}")]
    NonceGap { expected: u64 },
    /// Amounts in wei.
    #[error("waits for funds: have {balance}, want {cost}")]
    Funds { balance: U256, cost: U256 },
    /// Fees in wei per gas.
    #[error("waits for the base fee to fall: it is {base_fee}, the transaction pays at most {max_fee}")]
    BaseFee { max_fee: u128, base_fee: u128 },
    /// Fees in wei per blob gas.
    #[error(
        "waits for the blob base fee to fall: it is {blob_base_fee}, the transaction pays at most {max_fee}"
    )]
    BlobBaseFee { max_fee: u128, blob_base_fee: u128 },
    #[error("waits for the transaction with nonce {nonce}, which is waiting too")]
    Predecessor { nonce: u64 },
}

/// Reason why a transaction was dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Deserialize, Serialize)]
pub enum DropReason {
    /// Another transaction used its nonce.
    #[error("nonce too low")]
    NonceTooLow,
    #[error("evicted: the pool is full and others pay more")]
    Evicted,
    #[error("evicted: the sender has too many or too large pooled transactions")]
    SenderFull,
    /// It returned from an unwound block or a saved pool and is no longer admitted.
    #[error("rejected on its return to the pool: {0}")]
    NotReinjected(String),
    /// The sequencer that had it in its pool was replaced, and its successor does not have it.
    #[error("lost with the sequencer that accepted it, before a step contained it: send it again")]
    SequencerReplaced,
    /// An authorized caller requested it.
    #[error("dropped on request")]
    Requested,
    /// Execution found that it can never be included.
    #[error("rejected: {0}")]
    Rejected(String),
}

/// A transaction that left the pool without being included.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Dropped {
    pub hash: B256,
    pub reason: DropReason,
}
