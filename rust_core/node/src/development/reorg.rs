//! Unwinds and reorgs on demand.

use std::sync::Arc;

use foreseal_primitives::Transaction;

use crate::{development::development_control::DevelopmentControl, errors::production_error::ControlError};

impl DevelopmentControl<'_> {
    /// Replaces the newest `blocks.len()` sealed blocks by the same number of others, in one change. Each new
    /// block contains the given transactions that can be executed in it. The transactions of the old blocks
    /// and of the block being built return to the pool.
    pub fn reorg(&mut self, blocks: &[Vec<Arc<Transaction>>]) -> Result<(), ControlError> {
        self.developing()?;
        self.producing()?;
        let latest = self.producer.writer.chain.latest().number();
        let depth = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        // All new blocks build on the state of the common ancestor, whose trie nodes are retained for this
        // many blocks.
        let kept = self.producer.settings.store.proofs;
        let max = self.producer.settings.development.map_or(0, |development| development.mined.min(kept));
        if depth > max {
            return Err(ControlError::TooMany { what: "blocks at a time", max });
        }
        let common = latest.checked_sub(depth).ok_or(ControlError::NoSuchBlock(depth))?;
        if depth == 0 {
            return Ok(());
        }
        let mut draft = self.producer.unwound(common)?;
        for transactions in blocks {
            // Nothing is committed yet.
            if self.producer.writer.shared.stop.is_stopping()
                || self.producer.writer.shared.commands.are_ended()
            {
                return Err(ControlError::Interrupted);
            }
            // The new blocks are one block time apart, so the new head is about as old as the one it
            // replaces.
            let parent = draft.chain.latest().block.header.timestamp;
            let attributes =
                self.producer.next_block_attributes(parent.saturating_add(self.producer.mining.block_time()));
            draft.open(&attributes)?;
            draft.include(transactions)?;
            draft.seal()?;
        }
        self.producer.resume(draft)
    }
}
