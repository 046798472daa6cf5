//! Rebuilding of the block being built under another header.

use foreseal_builder::NextBlockAttributes;

use crate::{chain_draft::ChainDraft, production_error::ControlError, sequencer::Sequencer, slot::BlockSlot};

impl Sequencer {
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
        let steps = self.chain.open_steps();
        draft.unwind(self.chain.latest().number())?;
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
}
