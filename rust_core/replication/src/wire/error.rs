//! Errors of reading frames.

use std::io;

use foreseal_primitives::wire::DecodeError;

/// Error of reading a frame.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    #[error("no data received for {seconds} s")]
    Silent { seconds: u64 },
    #[error("a frame of {length} bytes exceeds the limit of {limit}")]
    TooLarge { length: usize, limit: usize },
    #[error("a frame is empty")]
    Empty,
    #[error("expected frame {due}, got {found}")]
    OutOfOrder { found: u32, due: u32 },
    #[error("a frame has the unknown kind {0}")]
    Kind(u8),
    #[error("a frame of kind {kind} does not decode: {error}")]
    Body { kind: u8, error: DecodeError },
    #[error("the first frame is not a greeting")]
    NoGreeting,
    #[error("the peer uses version {found} of the feed, this process version {own}")]
    Version { found: u32, own: u32 },
}
