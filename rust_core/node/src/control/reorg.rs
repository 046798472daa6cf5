//! Going back, and going another way.

use std::sync::Arc;

use foreseal_types::Transaction;

use crate::{ControlError, draft::Draft, sequencer::Sequencer};

impl Sequencer {
    /// Number of the newest sealed block.
    pub fn height(&self) -> u64 {
        self.chain.latest().number()
    }

    /// Makes sealed block `number` the newest one. The transactions after it return to the pool, those of the block being
    /// built too.
    ///
    /// # Errors
    /// Below the finalized block only a development chain goes back.
    pub fn unwind(&mut self, number: u64) -> Result<(), ControlError> {
        let draft = self.unwound(number)?;
        if self.slot.is_none() {
            return Ok(self.commit(draft, None)?);
        }
        self.resume(draft)
    }

    /// Replaces the newest `blocks.len()` sealed blocks by as many others, in one change; each holds the transactions
    /// given for it that can run there. What the old ones and the block being built held returns to the pool.
    pub fn reorg(&mut self, blocks: &[Vec<Arc<Transaction>>]) -> Result<(), ControlError> {
        self.developing()?;
        self.producing()?;
        let latest = self.chain.latest().number();
        let depth = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        // All are built on the state of the common block, whose nodes are kept for so long.
        let kept = self.settings.store.proofs;
        let max = self.settings.development.map_or(0, |development| development.mined.min(kept));
        if depth > max {
            return Err(ControlError::TooMany { what: "blocks at a time", max });
        }
        let common = latest.checked_sub(depth).ok_or(ControlError::NoSuchBlock(depth))?;
        if depth == 0 {
            return Ok(());
        }
        let mut draft = self.unwound(common)?;
        for transactions in blocks {
            // As far apart as blocks are, so that the new head is about as old as the one it replaces.
            let parent = draft.chain.latest().block.header.timestamp;
            let opening = self.opening(parent.saturating_add(self.mining.block_time()));
            draft.open(&opening)?;
            draft.include(transactions)?;
            draft.seal()?;
        }
        self.resume(draft)
    }

    /// Opens the block after the newest sealed one of `draft`, makes the draft the chain, and takes what the pool has.
    fn resume(&mut self, mut draft: Draft) -> Result<(), ControlError> {
        let slot = self.next_slot(&draft.chain, self.now());
        let opening = self.opening(slot.timestamp);
        draft.open(&opening)?;
        self.commit(draft, slot)?;
        self.step(&mut || true)?;
        Ok(())
    }

    fn unwound(&mut self, number: u64) -> Result<Draft, ControlError> {
        let finalized = self.chain.finality().finalized;
        if number < finalized && self.settings.development.is_none() {
            return Err(ControlError::Finalized { number, finalized });
        }
        let draft = self.back_to(number)?;
        self.fixed = None;
        Ok(draft)
    }

    /// A draft that goes back to sealed block `number`.
    ///
    /// Beyond the proof window nothing can be built there before the store has made the trie nodes of then again: so far
    /// back the unwind is a change by itself, durable and done when this returns, and not shown yet.
    pub(super) fn back_to(&mut self, number: u64) -> Result<Draft, ControlError> {
        let mut draft = self.draft();
        draft.unwind(number)?;
        let proved = number.saturating_add(self.settings.store.proofs);
        if proved > self.chain.latest().number() {
            return Ok(draft);
        }
        let Draft { chain, records, returning, .. } = draft;
        self.append(&records)?;
        self.adopt(chain)?;
        Ok(Draft { returning, ..self.draft() })
    }
}
