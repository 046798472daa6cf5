//! Outcome of an attempt on the receiving thread.

use bytes::Bytes;

use crate::errors::rpc_error::RpcError;

/// Maximum size of the parameters in bytes.
pub const MAX_PARAMS_SIZE: usize = 16 * 1024;

/// Outcome of an attempt on the receiving thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InlineAttempt {
    /// Result as JSON.
    Answered(Bytes),
    /// The error of the call.
    Failed(RpcError),
    /// The result is too large for the receiving thread, which was known before any work.
    TooLargeInline,
    /// The call reached, or would reach, the limits of an attempt.
    TooSlowInline,
    /// The parameters are not valid JSON, or an object in them has a name twice: the method itself decides.
    Malformed,
}
