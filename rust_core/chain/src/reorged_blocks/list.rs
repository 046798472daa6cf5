//! Reorged blocks in memory, up to a limit.

use std::sync::Arc;

use imbl::Vector;

use super::block::ReorgedBlock;

/// Maximum number of reorged blocks in memory; the oldest is evicted first.
pub(super) const MAX_BLOCKS: usize = 4096;
/// Default of the maximum size of these blocks, in bytes, as estimated by [`ReorgedBlock::bytes`].
pub(super) const MAX_BYTES: usize = 16 << 20;

/// Reorged blocks in order; the most recent is last.
#[derive(Clone, Debug)]
pub(super) struct BlockList {
    pub blocks: Vector<Arc<ReorgedBlock>>,
    pub bytes: usize,
    /// Maximum of `bytes`; the newest block stays even if it is larger.
    pub max_bytes: usize,
}

impl Default for BlockList {
    fn default() -> Self {
        Self::new(MAX_BYTES)
    }
}

impl BlockList {
    /// Returns an empty list of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { blocks: Vector::new(), bytes: 0, max_bytes }
    }

    /// Adds a block, and evicts the oldest ones above the limits.
    pub fn push(&mut self, block: ReorgedBlock) {
        self.bytes += block.bytes();
        self.blocks.push_back(Arc::new(block));
        while self.blocks.len() > MAX_BLOCKS || self.bytes > self.max_bytes && self.blocks.len() > 1 {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// Returns the first result of `find` among the blocks with this number, starting with the most recent.
    pub fn find_map<'s, T>(
        &'s self,
        number: u64,
        find: impl Fn(&'s Arc<ReorgedBlock>) -> Option<T>,
    ) -> Option<T> {
        let find = |block: &'s Arc<ReorgedBlock>| (block.number() == number).then(|| find(block)).flatten();
        self.blocks.iter().rev().find_map(find)
    }
}
