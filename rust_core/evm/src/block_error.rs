//! Errors of an invalid block.

use std::fmt::Display;

use foreseal_primitives::TransactionError;

use crate::error::ExecutionError;

/// Reasons that make a block invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// A field differs from the value that the parent, the body or the execution yields.
    #[error("{field}: expected {expected}, got {got}")]
    Field { field: &'static str, expected: String, got: String },
    #[error(transparent)]
    Signature(#[from] TransactionError),
    /// The block cannot contain the transaction at this position.
    #[error("transaction {index}: {error}")]
    Transaction { index: usize, error: ExecutionError },
    /// Block processing around the transactions failed.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

impl BlockError {
    pub(crate) fn field(field: &'static str, expected: String, got: impl Display) -> Self {
        Self::Field { field, expected, got: got.to_string() }
    }
}

/// Compares a field; the error shows both values.
pub(crate) fn expect<T: PartialEq + Display + Copy>(
    field: &'static str,
    expected: T,
    got: T,
) -> Result<(), BlockError> {
    if expected == got { Ok(()) } else { Err(BlockError::field(field, expected.to_string(), got)) }
}
