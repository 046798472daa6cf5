//! Error of a store that cannot be written.

/// Error of a store that accepts no more writes, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write the store: {0}")]
pub struct StoreFailed(pub String);
