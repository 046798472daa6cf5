//! Options of a journal.

use crate::layout::Identity;

/// Options for opening a journal.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// The chain that the node runs.
    pub identity: Identity,
    /// Number of bytes to preallocate for a segment, rounded up to whole sectors.
    pub segment_bytes: u64,
    /// Random bytes, new at every opening and never published. The salts of the segments derive from them.
    pub entropy: [u8; 32],
}

impl JournalOptions {
    /// Default number of bytes to preallocate for a segment.
    pub const SEGMENT_BYTES: u64 = 64 << 20;

    /// Creates options with segments of [`Self::SEGMENT_BYTES`].
    pub fn new(identity: Identity, entropy: [u8; 32]) -> Self {
        Self { identity, segment_bytes: Self::SEGMENT_BYTES, entropy }
    }
}
