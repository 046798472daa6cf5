//! The block being built, once more under another header.

use foreseal_builder::Opening;
use foreseal_types::mutant;

use crate::{ControlError, Slot, draft::Draft, sequencer::Sequencer};

impl Sequencer {
    /// Builds the block being built again: the same transactions and overrides in the same order, under an opening that
    /// `change` may change. A transaction that cannot run there returns to the pool.
    ///
    /// `draft` begins with what else is to change, `slot` is that of the block.
    pub(crate) fn rebuild(
        &mut self,
        mut draft: Draft,
        slot: Slot,
        change: impl FnOnce(&mut Opening),
    ) -> Result<(), ControlError> {
        let steps = self.chain.open_steps();
        draft.unwind(self.chain.latest().number())?;
        let mut opening = self.opening(slot.timestamp);
        if let Some(first) = steps.front() {
            opening.mix_hash = first.step.header.mix_hash;
            // That of its parent, or the one that was set.
            opening.base_fee = first.step.header.base_fee_per_gas;
        }
        change(&mut opening);
        draft.open(&opening)?;
        for recorded in steps.iter().skip(1) {
            match &recorded.change {
                Some(change) => {
                    if !mutant!("rebuild-without-overrides") {
                        draft.write(change)?;
                    }
                }
                None => {
                    draft.include(&recorded.step.transactions)?;
                }
            }
        }
        Ok(self.commit(draft, slot)?)
    }
}
