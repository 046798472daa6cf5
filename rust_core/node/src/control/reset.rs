//! Return of a development chain to its genesis block.

use foreseal_pool::Pool;

use crate::{mining::Mining, production_error::ControlError, sequencer::Sequencer};

impl Sequencer {
    /// Removes all blocks after the genesis block, all transactions of the pool and all snapshots. The clock is the
    /// wall clock again, and settings that development methods have changed are those of the start.
    pub fn reset_chain(&mut self) -> Result<(), ControlError> {
        self.developing()?;
        self.producing()?;
        (self.settings.production, self.settings.finality) = self.own_production.clone();
        self.mining = self.settings.initial_mining();
        self.shared.set_automine(self.mining == Mining::Automatic);
        self.timestamp_interval = None;
        let mut draft = self.back_to(0)?;
        draft.set_clock(0);
        let slot = self.next_slot(&draft.chain, self.shared.clock.now());
        let attributes = self.next_block_attributes(slot.timestamp);
        draft.open(&attributes)?;
        self.restore(draft, &Pool::new(self.shared.pool.config().clone()).snapshot())?;
        self.slot = Some(slot);
        self.fixed = None;
        self.snapshots.kept.clear();
        Ok(())
    }
}
