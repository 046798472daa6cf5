//! Outcome of an attempt on the fast path, which runs on the receiving thread.

use bytes::Bytes;

/// Maximum size of the parameters in bytes.
pub const MAX_PARAMS_SIZE: usize = 16 * 1024;

/// Outcome of an attempt on the fast path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Result as JSON, identical to that of the slow path.
    Answered(Bytes),
    /// The call reached, or would reach, the limits of an attempt.
    Long,
    /// The call failed. The slow path returns the error.
    Failed,
}
