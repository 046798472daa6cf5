//! Blocks that left memory.

use std::sync::Arc;

use crate::{executed_block::ExecutedBlock, hash_index::HashIndex};

/// Blocks that a chain no longer holds in memory because the history does. Dropping it removes their hashes from the
/// index and frees their memory, which takes time proportional to their transactions.
///
/// Until then, their hashes lead to the blocks in the history. Drop it before the chain is unwound, because a
/// transaction can then get another position.
#[must_use = "it takes long to drop, so the caller chooses when"]
#[derive(Debug)]
pub struct ExpiredBlocks {
    blocks: Vec<Arc<ExecutedBlock>>,
    lookup: Arc<HashIndex>,
}

impl ExpiredBlocks {
    pub(super) fn new(blocks: Vec<Arc<ExecutedBlock>>, lookup: Arc<HashIndex>) -> Self {
        Self { blocks, lookup }
    }
}

impl Drop for ExpiredBlocks {
    fn drop(&mut self) {
        for block in self.blocks.drain(..) {
            self.lookup.remove_step(&block.block.hash);
            for step in &block.steps {
                self.lookup.remove_step(&step.hash);
            }
            for transaction in &block.block.transactions {
                self.lookup.remove_transaction(&transaction.hash());
            }
        }
    }
}
