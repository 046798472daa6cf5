//! Mining of blocks on demand.

use std::sync::Arc;

use foreseal_builder::StepLimits;
use foreseal_primitives::Flashblock;

use crate::{
    chain_draft::ChainDraft,
    mining::Mining,
    node::{Node, NodeRole},
    production_error::{ControlError, ProductionError},
    sequencer::Sequencer,
    slot::BlockSlot,
    writer_metrics::Stopwatch,
};

/// Number of empty blocks that are appended and published together. One fsync per block would dominate the
/// time. In batches of this size fsync is a small part, and readers still see the chain grow.
const TOGETHER: u64 = 64;

/// Blocks to mine on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MiningOrder {
    pub blocks: u64,
    /// Seconds between their timestamps; `None` for the block time.
    pub interval: Option<u64>,
    /// `true` if the timestamp of the first block follows the clock, without the interval.
    pub begins_now: bool,
    /// Timestamp of the first block, in Unix seconds.
    pub timestamp: Option<u64>,
}

impl Node {
    /// Mines blocks like [`Sequencer::mine`], as a long command: readers, ticks and a stop of the node do not wait for
    /// the last block. `keep_going` returns `false` once the blocks are no longer needed.
    ///
    /// # Errors
    /// Returns the errors of [`Sequencer::mine`], and [`ControlError::Interrupted`]. Blocks that are mined stay.
    pub fn mine(&self, order: MiningOrder, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ControlError> {
        let NodeRole::Writer(writing) = &self.part else { return Err(ControlError::Follower) };
        let (mut has_begun, mut left) = (false, order.blocks);
        writing.control.run_slices(&self.shared, keep_going, &mut |sequencer| {
            if !has_begun {
                sequencer.begin_mining(order)?;
                has_begun = true;
            }
            if left > 0 {
                left -= sequencer.mine_next(left, order.interval)?;
            }
            Ok(left == 0)
        })
    }

    /// Ends the long command that runs, and rejects others from now on: the node is about to stop.
    pub fn end_commands(&self) {
        self.shared.commands.end();
    }
}

impl Sequencer {
    /// Seals the block being built with the transactions that the pool has for it, and repeats until `blocks`
    /// are sealed. Each block is sealed at its timestamp: the clock advances to it if it is in the future.
    /// Blocks for which the pool has no transactions are appended and published in batches.
    ///
    /// With an `interval` (seconds), each block's timestamp is that much later than its parent's. The first
    /// block's timestamp counts from the clock, unless it was set explicitly.
    pub fn mine(&mut self, blocks: u64, interval: Option<u64>) -> Result<(), ControlError> {
        self.begin_mining(MiningOrder { blocks, interval, ..MiningOrder::default() })?;
        let mut left = blocks;
        while left > 0 {
            if self.shared.stopping() {
                return Err(ControlError::Stopped("the node is stopped".to_owned()));
            }
            left -= self.mine_next(left, interval)?;
        }
        Ok(())
    }

    /// Checks an order, and prepares the block being built for it.
    fn begin_mining(&mut self, order: MiningOrder) -> Result<(), ControlError> {
        let MiningOrder { blocks, interval, begins_now, timestamp } = order;
        if let Some(timestamp) = timestamp {
            self.set_next_timestamp(timestamp)?;
        }
        self.developing()?;
        self.producing()?;
        let max = self.settings.development.map_or(0, |development| development.mined);
        if blocks > max {
            return Err(ControlError::TooMany { what: "blocks at a time", max });
        }
        let set = self.has_set_timestamp();
        if let Some(interval) = interval.filter(|_| blocks > 0 && !set && !begins_now) {
            let previous = self.chain.latest().block.header.timestamp;
            let from = self.now().unix.as_secs().max(previous);
            self.set_next_timestamp(from.saturating_add(interval.max(1)))?;
        }
        if blocks > 0 {
            self.catch_up()?;
        }
        Ok(())
    }

    /// Seals the block being built with the transactions that the pool has for it, and empty blocks after it while the
    /// pool has none. Returns their number, at most `left`.
    fn mine_next(&mut self, left: u64, interval: Option<u64>) -> Result<u64, ControlError> {
        let mut draft = self.draft();
        let step = self.execute_in(&mut draft, &mut || true)?;
        let sealed = self.seal_some(draft, left, interval)?;
        if let Some(step) = step {
            self.finish_step(&step);
        }
        Ok(sealed)
    }

    /// Seals the block being built in `draft` and opens the next, with one append and one swap of views.
    pub(super) fn seal_now(&mut self, draft: ChainDraft) -> Result<(), ControlError> {
        self.seal_some(draft, 1, None).map(drop)
    }

    /// Seals the block being built in `draft`, and further empty blocks while the pool is empty. Seals at most
    /// `left` blocks, the number that remain to be mined. Returns the number of sealed blocks. With an
    /// `interval` their timestamps are that many seconds apart.
    fn seal_some(
        &mut self,
        mut draft: ChainDraft,
        left: u64,
        interval: Option<u64>,
    ) -> Result<u64, ControlError> {
        let mut sealed = 0;
        loop {
            draft.seal()?;
            sealed += 1;
            let slot = self.slot_after(&mut draft, interval.filter(|_| sealed < left))?;
            let attributes = self.next_block_attributes(slot.timestamp);
            draft.open(&attributes)?;
            if sealed == left.min(TOGETHER) || self.shared.pool.counts().pooled > 0 {
                self.commit(draft, slot)?;
                return Ok(sealed);
            }
        }
    }

    /// Returns the slot of the block after the newest sealed one of `draft`. Advances the draft's clock to
    /// that block's timestamp if needed.
    fn slot_after(&self, draft: &mut ChainDraft, interval: Option<u64>) -> Result<BlockSlot, ControlError> {
        let sealed = draft.chain.latest().block.header.timestamp;
        let clock = self.shared.clock.now();
        if clock.shifted(draft.chain.clock_offset()).unix.as_secs() < sealed {
            let offset = self.offset_to(sealed)?;
            draft.set_clock(offset);
        }
        let now = clock.shifted(draft.chain.clock_offset());
        Ok(match interval {
            Some(seconds) => BlockSlot::with_timestamp(
                now,
                sealed.saturating_add(seconds.max(1)),
                self.mining.block_time(),
            ),
            None => self.next_slot(&draft.chain, now),
        })
    }

    /// Sets the mining mode. The block being built continues under the new mode.
    pub fn set_mining(&mut self, mining: Mining) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        self.mining = mining;
        self.slot = Some(BlockSlot::with_timestamp(self.now(), slot.timestamp, mining.block_time()));
        self.shared.set_automine(mining == Mining::Automatic);
        if mining == Mining::Automatic { self.seal_executable(&mut || true) } else { Ok(()) }
    }

    /// Seals the block being built if it has steps, then everything in the pool that can be executed, block
    /// after block.
    pub(crate) fn seal_executable(
        &mut self,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ControlError> {
        if self.chain.open_block().is_some_and(|open| open.index() > 0) {
            let (draft, now) = (self.draft(), self.now());
            self.seal_draft_and_open_next(draft, now)?;
        }
        while self.shared.pool.counts().pooled > 0 && !self.shared.stopping() {
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
        let clock = self.shared.clock.clone();
        let mut stopwatch = Stopwatch::begin(&*clock);
        let mut draft = self.draft();
        let Some(step) = self.execute_in(&mut draft, keep_going)? else { return Ok(false) };
        let now = self.now();
        self.seal_draft_and_open_next(draft, now)?;
        self.finish_step(&step);
        stopwatch.lap();
        self.shared.metrics.step.add(stopwatch.whole());
        Ok(true)
    }

    /// Executes the pool's best transactions as a step of `draft`. Returns the step, if one was made.
    fn execute_in(
        &mut self,
        draft: &mut ChainDraft,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Arc<Flashblock>>, ProductionError> {
        let executed = self.execute(StepLimits::default(), keep_going)?;
        Ok(executed.map(|(block, step)| draft.add(block, step)))
    }

    /// Removes the transactions of a durable, published step from the pool.
    fn finish_step(&self, step: &Flashblock) {
        tracing::debug!(hash = %step.hash, transactions = step.transactions.len(), "step is durable");
        self.shared.pool.on_step(&step.transactions, &step.diff);
        self.shared.metrics.stepped(step);
    }
}
