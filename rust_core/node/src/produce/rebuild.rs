//! Rebuilding of the block being built under another header.

use foreseal_builder::NextBlockAttributes;

use crate::{
    clock::slot::BlockSlot,
    errors::production_error::ControlError,
    produce::{block_producer::BlockProducer, chain_draft::ChainDraft},
};

impl BlockProducer {
    /// Rebuilds the block being built: the same transactions and overrides in the same order, under an
    /// opening that `change` modifies. A transaction that cannot be executed there returns to the pool.
    ///
    /// `draft` contains the other changes to commit first; `slot` is the slot of the block.
    pub(crate) fn rebuild(
        &mut self,
        mut draft: ChainDraft,
        slot: BlockSlot,
        change: impl FnOnce(&mut NextBlockAttributes),
    ) -> Result<(), ControlError> {
        let steps = self.writer.chain.open_steps();
        draft.unwind(self.writer.chain.latest().number())?;
        let mut attributes = self.next_block_attributes(slot.timestamp);
        if let Some(first) = steps.front() {
            attributes.mix_hash = first.step.header.mix_hash;
            attributes.exact_gas_limit = Some(first.step.header.gas_limit);
            // The base fee that follows from the parent, or the one that was set.
            attributes.base_fee = first.step.header.base_fee_per_gas;
        }
        change(&mut attributes);
        draft.open(&attributes)?;
        for recorded in steps.iter().skip(1) {
            match &recorded.change {
                Some(change) => {
                    draft.write(change)?;
                }
                None => {
                    draft.include(&recorded.step.transactions)?;
                }
            }
        }
        Ok(self.commit(draft, slot)?)
    }

    /// Moves the timestamp of an empty block being built up to the present. Without interval mining the block
    /// may have been open for a long time.
    pub(crate) fn catch_up(&mut self) -> Result<(), ControlError> {
        let Some(open) = self.writer.chain.open_block() else { return Ok(()) };
        let slot = self.next_slot(&self.writer.chain, self.writer.now());
        if self.mining.is_timed()
            || open.index() > 0
            || self.fixed == Some(open.number())
            || slot.timestamp <= open.header().timestamp
        {
            return Ok(());
        }
        self.rebuild(self.draft(), slot, |_| {})
    }

    /// Returns `true` if the timestamp of the block being built was set.
    pub(crate) fn has_set_timestamp(&self) -> bool {
        self.writer.chain.open_block().is_some_and(|open| self.fixed == Some(open.number()))
    }
}
