//! Errors of a leader's writes.

use crate::{owner::Owner, quorum_error::QuorumStoreError, quorum_head::QuorumHead};

/// Reasons why an append is not acknowledged. Nothing of it may become visible, even if the quorum store holds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Another process is the owner, or this one released its ownership.
    #[error("another process owns the chain: {}", owner_name(owner.as_deref()))]
    Fenced { owner: Option<Box<Owner>> },
    /// The caller stopped the wait for an answer. The append may exist, now or later.
    #[error("stopped while the engine did not answer: the append may exist")]
    Stopped,
    /// The quorum store's head is neither this append nor the one before it.
    #[error("append {sequence} does not follow the engine's head, {}: stop this process", head_name(head.as_ref()))]
    Diverged { sequence: u64, head: Option<QuorumHead> },
    /// An earlier append has no definite answer; only that one can be repeated.
    #[error("append {sequence} cannot be sent: the outcome of append {unresolved} is unknown")]
    Unresolved { sequence: u64, unresolved: u64 },
    #[error("append {sequence} has {bytes} bytes, but at most {max} are supported")]
    TooLarge { sequence: u64, bytes: usize, max: usize },
    /// The quorum store returned a definite error. An earlier attempt may still have succeeded.
    #[error("the append failed: {0}")]
    Rejected(QuorumStoreError),
}

/// Reasons why another write of the leader fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FenceError {
    /// Another process is the owner, or this one released its ownership.
    #[error("another process owns the chain: {}", owner_name(owner.as_deref()))]
    Fenced { owner: Option<Box<Owner>> },
    /// The quorum store did not answer, or returned an error.
    #[error(transparent)]
    QuorumStore(#[from] QuorumStoreError),
}

fn owner_name(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "none is recorded".to_owned(), ToString::to_string)
}

fn head_name(head: Option<&QuorumHead>) -> String {
    head.map_or_else(
        || "which is absent".to_owned(),
        |head| format!("append {} {}", head.sequence, head.hash),
    )
}
