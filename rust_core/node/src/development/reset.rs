//! Return of a development chain to its genesis block.

use foreseal_pool::Pool;

use crate::{
    development::development_control::DevelopmentControl, errors::production_error::ControlError,
    settings::mining::Mining,
};

impl DevelopmentControl<'_> {
    /// Removes all blocks after the genesis block, all transactions of the pool and all snapshots. The clock is the
    /// wall clock again, and settings that development methods have changed are those of the start.
    pub fn reset_chain(&mut self) -> Result<(), ControlError> {
        self.developing()?;
        self.producing()?;
        (self.producer.settings.production, self.producer.settings.finality) =
            self.producer.own_production.clone();
        self.producer.mining = self.producer.settings.initial_mining();
        self.producer.writer.shared.set_automine(self.producer.mining == Mining::Automatic);
        self.producer.timestamp_interval = None;
        let mut draft = self.producer.back_to(0)?;
        draft.set_clock(0);
        let slot = self.producer.next_slot(&draft.chain, self.producer.writer.shared.clock.now());
        let attributes = self.producer.next_block_attributes(slot.timestamp);
        draft.open(&attributes)?;
        self.producer
            .restore(draft, &Pool::new(self.producer.writer.shared.pool.config().clone()).snapshot())?;
        self.producer.slot = Some(slot);
        self.producer.fixed = None;
        self.snapshots.kept.clear();
        Ok(())
    }
}
