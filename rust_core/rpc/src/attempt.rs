//! Outcome of an attempt on the fast path, which runs on the receiving thread.

use bytes::Bytes;

use crate::RpcError;

/// Maximum size of the parameters in bytes.
pub const MAX_PARAMS_SIZE: usize = 16 * 1024;

/// Outcome of an attempt on the fast path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InlineAttempt {
    /// Result as JSON, identical to that of the slow path.
    Answered(Bytes),
    /// The error of the call, identical to that of the slow path.
    Failed(RpcError),
    /// The result is too large for the receiving thread, which was known before any work.
    TooLargeInline,
    /// The call reached, or would reach, the limits of an attempt.
    TooSlowInline,
    /// The parameters are not valid JSON, or an object in them has a name twice: the slow path decides.
    Malformed,
}
