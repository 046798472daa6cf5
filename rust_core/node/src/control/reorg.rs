//! Unwinds and reorgs on demand.

use std::sync::Arc;

use foreseal_primitives::Transaction;

use crate::{chain_draft::ChainDraft, mining::Mining, production_error::ControlError, sequencer::Sequencer};

impl Sequencer {
    /// Returns the number of the newest sealed block.
    pub fn height(&self) -> u64 {
        self.chain.latest().number()
    }

    /// Makes sealed block `number` the newest one. The transactions after it return to the pool, including
    /// those of the block being built.
    ///
    /// # Errors
    /// Returns [`ControlError::Finalized`] below the finalized block, except on a development chain.
    pub fn unwind(&mut self, number: u64) -> Result<(), ControlError> {
        let draft = self.unwound(number)?;
        if self.slot.is_none() {
            return Ok(self.commit(draft, None)?);
        }
        self.resume(draft)
    }

    /// Replaces the newest `blocks.len()` sealed blocks by the same number of others, in one change. Each new
    /// block contains the given transactions that can be executed in it. The transactions of the old blocks
    /// and of the block being built return to the pool.
    pub fn reorg(&mut self, blocks: &[Vec<Arc<Transaction>>]) -> Result<(), ControlError> {
        self.developing()?;
        self.producing()?;
        let latest = self.chain.latest().number();
        let depth = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        // All new blocks build on the state of the common ancestor, whose trie nodes are retained for this
        // many blocks.
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
            // Nothing is committed yet.
            if self.shared.stopping() || self.shared.commands.are_ended() {
                return Err(ControlError::Interrupted);
            }
            // The new blocks are one block time apart, so the new head is about as old as the one it
            // replaces.
            let parent = draft.chain.latest().block.header.timestamp;
            let attributes = self.next_block_attributes(parent.saturating_add(self.mining.block_time()));
            draft.open(&attributes)?;
            draft.include(transactions)?;
            draft.seal()?;
        }
        self.resume(draft)
    }

    /// Opens the block after the newest sealed one of `draft`, commits the draft, and adds transactions from
    /// the pool. Under automine, the next tick adds and seals them.
    fn resume(&mut self, mut draft: ChainDraft) -> Result<(), ControlError> {
        let slot = self.next_slot(&draft.chain, self.now());
        let attributes = self.next_block_attributes(slot.timestamp);
        draft.open(&attributes)?;
        self.commit(draft, slot)?;
        // Under automine, a step would be visible without its sealed block.
        if self.mining != Mining::Automatic {
            self.step(&mut || true)?;
        }
        Ok(())
    }

    fn unwound(&mut self, number: u64) -> Result<ChainDraft, ControlError> {
        let finalized = self.chain.finality().finalized;
        if number < finalized && self.settings.development.is_none() {
            return Err(ControlError::Finalized { number, finalized });
        }
        let draft = self.back_to(number)?;
        self.fixed = None;
        Ok(draft)
    }

    /// Returns a draft that unwinds to sealed block `number`.
    ///
    /// Beyond the proof window, no block can be built there before the store has restored the trie nodes of
    /// that block. An unwind that far is committed as a separate change: it is durable when this returns, but
    /// not published yet.
    pub(super) fn back_to(&mut self, number: u64) -> Result<ChainDraft, ControlError> {
        let mut draft = self.draft();
        draft.unwind(number)?;
        let proved = number.saturating_add(self.settings.store.proofs);
        if proved > self.chain.latest().number() {
            return Ok(draft);
        }
        let ChainDraft { chain, records, returning, .. } = draft;
        self.append_to_journal(&records)?;
        self.adopt(chain)?;
        Ok(ChainDraft { returning, ..self.draft() })
    }
}
