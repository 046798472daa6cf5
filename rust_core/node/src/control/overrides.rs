//! State overrides: writes to the state without a transaction.

use std::slice;

use foreseal_primitives::Override;

use crate::{mining::Mining, production_error::ControlError, sequencer::Sequencer};

impl Sequencer {
    /// Writes to the state of the block being built. The write is a step of its own: header and roots match
    /// the written state, and followers apply it like any other step. A write that changes nothing makes no
    /// step.
    pub fn write(&mut self, change: &Override) -> Result<(), ControlError> {
        self.write_all(slice::from_ref(change))
    }

    /// Writes several changes like [`Self::write`], each in a step of its own. All become visible together.
    pub(crate) fn write_all(&mut self, changes: &[Override]) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        let mut draft = self.draft();
        let mut diffs = Vec::new();
        for change in changes {
            diffs.extend(draft.write(change)?);
        }
        if diffs.is_empty() {
            return Ok(());
        }
        if self.mining == Mining::Automatic {
            self.seal_now(draft)?;
        } else {
            self.commit(draft, slot)?;
        }
        for diff in diffs {
            self.shared.pool.on_step(&[], &diff);
        }
        Ok(())
    }
}
