//! The position of a reader in the feed.

use alloy_primitives::B256;

/// Cursor of a step: all that a reader must remember.
///
/// Two steps are the same if their cursors are equal. On a development chain with state overrides, different
/// histories can lead to the same cursor; for a reader they are equivalent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepCursor {
    /// Number of its block.
    pub number: u64,
    /// Index of the step in the block.
    pub index: u64,
    /// Hash of the block after this step.
    pub hash: B256,
}
