//! Unwinds of the chain to an earlier sealed block.

use crate::{
    errors::production_error::ControlError,
    produce::{block_producer::BlockProducer, chain_draft::ChainDraft},
    settings::mining::Mining,
};

impl BlockProducer {
    /// Returns a draft that unwinds to sealed block `number`, which must not be below the finalized one except on a
    /// development chain.
    pub(crate) fn unwound(&mut self, number: u64) -> Result<ChainDraft, ControlError> {
        let finalized = self.writer.chain.finality().finalized;
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
    pub(crate) fn back_to(&mut self, number: u64) -> Result<ChainDraft, ControlError> {
        let mut draft = self.draft();
        draft.unwind(number)?;
        let proved = number.saturating_add(self.settings.store.proofs);
        if proved > self.writer.chain.latest().number() {
            return Ok(draft);
        }
        let ChainDraft { chain, records, returning, .. } = draft;
        self.writer.append(&records)?;
        drop(self.writer.adopt(chain)?);
        Ok(ChainDraft { returning, ..self.draft() })
    }

    /// Opens the block after the newest sealed one of `draft`, commits the draft, and adds transactions from
    /// the pool. Under automine, the next tick adds and seals them.
    pub(crate) fn resume(&mut self, mut draft: ChainDraft) -> Result<(), ControlError> {
        let slot = self.next_slot(&draft.chain, self.writer.now());
        let attributes = self.next_block_attributes(slot.timestamp);
        draft.open(&attributes)?;
        self.commit(draft, slot)?;
        // Under automine, a step would be visible without its sealed block.
        if self.mining != Mining::Automatic {
            self.step(&mut || true)?;
        }
        Ok(())
    }
}
