//! State overrides: writes to the state without a transaction.

use std::slice;

use foreseal_primitives::Override;

use crate::{
    development::development_control::DevelopmentControl, errors::production_error::ControlError,
    settings::mining::Mining,
};

impl DevelopmentControl<'_> {
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
        let mut draft = self.producer.draft();
        let mut diffs = Vec::new();
        for change in changes {
            diffs.extend(draft.write(change)?);
        }
        if diffs.is_empty() {
            return Ok(());
        }
        if self.producer.mining == Mining::Automatic {
            self.seal_now(draft)?;
        } else {
            self.producer.commit(draft, slot)?;
        }
        for diff in diffs {
            self.producer.writer.shared.pool.on_step(&[], &diff);
        }
        Ok(())
    }
}
