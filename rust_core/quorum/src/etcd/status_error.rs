//! Meaning of gRPC status codes.

use tonic::{Code, Status};

use crate::quorum_error::QuorumStoreError;

/// Returns the error that a status represents. Every status that does not prove the outcome is unanswered.
pub(super) fn quorum_error(endpoint: &str, status: &Status) -> QuorumStoreError {
    let message = status.message();
    let endpoint = endpoint.to_owned();
    match status.code() {
        Code::ResourceExhausted if message.contains("database space exceeded") => {
            QuorumStoreError::NoSpace { endpoint }
        }
        Code::ResourceExhausted if message.contains("too many requests") => unanswered(status),
        Code::OutOfRange => QuorumStoreError::Revision { endpoint, reason: message.to_owned() },
        Code::ResourceExhausted
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Unimplemented
        | Code::DataLoss
        | Code::Unauthenticated => QuorumStoreError::Rejected { endpoint, reason: message.to_owned() },
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::Internal
        | Code::Unavailable => unanswered(status),
    }
}

/// Returns `true` if a new authentication token may cure this status.
pub(super) fn needs_token(status: &Status) -> bool {
    let message = status.message();
    status.code() == Code::Unauthenticated
        || message.contains("invalid auth token")
        || message.contains("revision of auth store is old")
        || message.contains("user name is empty")
}

fn unanswered(status: &Status) -> QuorumStoreError {
    let mut reason = status.message().to_owned();
    // Transport errors name their cause only in the source.
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        reason = format!("{reason}: {error}");
        source = error.source();
    }
    QuorumStoreError::unanswered(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_definite_statuses_are_definite_errors() {
        let error = |code, message: &str| quorum_error("a:1", &Status::new(code, message));
        let is_transient = |code, message: &str| error(code, message).is_transient();
        assert!(is_transient(Code::Unavailable, "etcdserver: no leader"));
        assert!(is_transient(Code::Unknown, "transport error"));
        assert!(is_transient(Code::Internal, "stream closed"));
        assert!(is_transient(Code::ResourceExhausted, "etcdserver: too many requests"));
        assert!(is_transient(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded"));
        assert!(!is_transient(Code::InvalidArgument, "etcdserver: request is too large"));
        assert!(!is_transient(Code::PermissionDenied, "etcdserver: permission denied"));
        let compacted = error(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted");
        assert!(matches!(compacted, QuorumStoreError::Revision { .. }));
    }
}
