//! Where a reader of the feed is.

use alloy_primitives::B256;

use super::Steps;
use crate::View;

/// A step, by what names it: all that a reader has to remember.
///
/// Two steps are the same when their places are. On a development chain, where state is written at will, two ways to a step
/// can have the same place; who has seen one of them has seen the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Number of its block.
    pub number: u64,
    /// Its index in the block.
    pub index: u64,
    /// The hash of the block as of this step.
    pub hash: B256,
}

impl View {
    /// The place of the newest step. On a node that only serves, a block that it could build next is not one.
    pub fn place(&self) -> Place {
        let newest = if self.pending.steps.is_empty() { self.latest() } else { &self.pending };
        Steps::of(newest).last()
    }
}
