//! Automine: blocks that are sealed as soon as the pool has transactions.

use std::sync::Arc;

use foreseal_builder::StepLimits;
use foreseal_primitives::Flashblock;

use crate::{
    errors::production_error::{ControlError, ProductionError},
    observe::writer_metrics::Stopwatch,
    produce::{block_producer::BlockProducer, chain_draft::ChainDraft},
};

impl BlockProducer {
    /// Seals the block being built if it has steps, then everything in the pool that can be executed, block
    /// after block.
    pub(crate) fn seal_executable(
        &mut self,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ControlError> {
        if self.writer.chain.open_block().is_some_and(|open| open.index() > 0) {
            let (draft, now) = (self.draft(), self.writer.now());
            self.seal_draft_and_open_next(draft, now)?;
        }
        while self.writer.shared.pool.counts().pooled > 0 && !self.writer.shared.stop.is_stopping() {
            self.catch_up()?;
            if !self.step_and_seal(keep_going)? {
                break;
            }
        }
        Ok(())
    }

    /// Executes the pool's best transactions and seals the block with them, with one append and one swap of
    /// views: their receipts are visible only in a block that is `latest`. Returns `true` if a block was sealed.
    fn step_and_seal(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<bool, ControlError> {
        let clock = self.writer.shared.clock.clone();
        let mut stopwatch = Stopwatch::begin(&*clock);
        let mut draft = self.draft();
        let Some(step) = self.execute_in(&mut draft, keep_going)? else { return Ok(false) };
        let now = self.writer.now();
        self.seal_draft_and_open_next(draft, now)?;
        self.finish_step(&step);
        stopwatch.lap();
        self.writer.shared.metrics.step.add(stopwatch.whole());
        Ok(true)
    }

    /// Executes the pool's best transactions as a step of `draft`. Returns the step, if one was made.
    pub(crate) fn execute_in(
        &mut self,
        draft: &mut ChainDraft,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Arc<Flashblock>>, ProductionError> {
        let executed = self.execute(StepLimits::default(), keep_going)?;
        Ok(executed.map(|(block, step)| draft.add(block, step)))
    }

    /// Removes the transactions of a durable, published step from the pool.
    pub(crate) fn finish_step(&self, step: &Flashblock) {
        tracing::debug!(hash = %step.hash, transactions = step.transactions.len(), "step is durable");
        self.writer.shared.pool.on_step(&step.transactions, &step.diff);
        self.writer.shared.metrics.stepped(step);
    }
}
