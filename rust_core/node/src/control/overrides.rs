//! State overrides: writes to the state without a transaction.

use foreseal_primitives::Override;

use crate::{ControlError, Mining, sequencer::Sequencer};

impl Sequencer {
    /// Writes to the state of the block being built. The write is a step of its own: header and roots match
    /// the written state, and followers apply it like any other step. A write that changes nothing makes no
    /// step.
    pub fn write(&mut self, change: &Override) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        let mut draft = self.draft();
        let Some(diff) = draft.write(change)? else { return Ok(()) };
        if self.mining == Mining::Automatic {
            self.seal_now(draft)?;
        } else {
            self.commit(draft, slot)?;
        }
        self.shared.pool.on_step(&[], &diff);
        Ok(())
    }
}
