//! Errors of a quorum store.

/// Reasons why a quorum store's answer to a request is missing or is no success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumStoreError {
    /// No endpoint answered in time. The request may have been executed, or may be executed later.
    #[error("the engine did not answer, so the outcome of the request is unknown: {reason}")]
    Unanswered { reason: String },
    /// The space quota is exhausted. etcd may execute the write that exceeds the quota and still return this.
    #[error(
        "a member of the quorum is out of space (NOSPACE, answered by {endpoint}; `etcdctl alarm list` names the member): \
         compact, defragment that member, then run `etcdctl alarm disarm`"
    )]
    NoSpace { endpoint: String },
    /// The endpoint rejected this attempt: authentication, permissions, size or an invalid request.
    #[error("the engine at {endpoint} rejected the request: {reason}")]
    Rejected { endpoint: String, reason: String },
    /// The revision is older than the newest compaction, or newer than the store.
    #[error("the engine at {endpoint} does not have this revision: {reason}")]
    Revision { endpoint: String, reason: String },
    #[error("the value of the engine's key {key} is invalid: {reason}")]
    InvalidValue { key: String, reason: String },
    #[error("the engine's response does not match the request: {reason}")]
    InvalidResponse { reason: String },
}

impl QuorumStoreError {
    /// Returns `true` if the same request may succeed later without a change by the caller.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unanswered { .. } | Self::NoSpace { .. })
    }

    /// Returns the error for a request whose outcome is unknown.
    pub fn unanswered(reason: impl Into<String>) -> Self {
        Self::Unanswered { reason: reason.into() }
    }

    pub(crate) fn invalid_response(reason: impl Into<String>) -> Self {
        Self::InvalidResponse { reason: reason.into() }
    }
}
