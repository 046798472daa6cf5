//! Mining of blocks on demand.

use crate::{
    clock::slot::BlockSlot, development::development_control::DevelopmentControl,
    errors::production_error::ControlError, produce::chain_draft::ChainDraft, settings::mining::Mining,
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

impl DevelopmentControl<'_> {
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
            if self.producer.writer.shared.stop.is_stopping() {
                return Err(ControlError::Stopped("the node is stopped".to_owned()));
            }
            left -= self.mine_next(left, interval)?;
        }
        Ok(())
    }

    /// Checks an order, and prepares the block being built for it.
    pub(crate) fn begin_mining(&mut self, order: MiningOrder) -> Result<(), ControlError> {
        let MiningOrder { blocks, interval, begins_now, timestamp } = order;
        if let Some(timestamp) = timestamp {
            self.set_next_timestamp(timestamp)?;
        }
        self.developing()?;
        self.producing()?;
        let max = self.producer.settings.development.map_or(0, |development| development.mined);
        if blocks > max {
            return Err(ControlError::TooMany { what: "blocks at a time", max });
        }
        let set = self.producer.has_set_timestamp();
        if let Some(interval) = interval.filter(|_| blocks > 0 && !set && !begins_now) {
            let previous = self.producer.writer.chain.latest().block.header.timestamp;
            let from = self.producer.writer.now().unix.as_secs().max(previous);
            self.set_next_timestamp(from.saturating_add(interval.max(1)))?;
        }
        if blocks > 0 {
            self.producer.catch_up()?;
        }
        Ok(())
    }

    /// Seals the block being built with the transactions that the pool has for it, and empty blocks after it while the
    /// pool has none. Returns their number, at most `left`.
    pub(crate) fn mine_next(&mut self, left: u64, interval: Option<u64>) -> Result<u64, ControlError> {
        let mut draft = self.producer.draft();
        let step = self.producer.execute_in(&mut draft, &mut || true)?;
        let sealed = self.seal_some(draft, left, interval)?;
        if let Some(step) = step {
            self.producer.finish_step(&step);
        }
        Ok(sealed)
    }

    /// Seals the block being built in `draft` and opens the next, with one append and one swap of views.
    pub(crate) fn seal_now(&mut self, draft: ChainDraft) -> Result<(), ControlError> {
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
            let attributes = self.producer.next_block_attributes(slot.timestamp);
            draft.open(&attributes)?;
            if sealed == left.min(TOGETHER) || self.producer.writer.shared.pool.counts().pooled > 0 {
                self.producer.commit(draft, slot)?;
                return Ok(sealed);
            }
        }
    }

    /// Returns the slot of the block after the newest sealed one of `draft`. Advances the draft's clock to
    /// that block's timestamp if needed.
    fn slot_after(&self, draft: &mut ChainDraft, interval: Option<u64>) -> Result<BlockSlot, ControlError> {
        let sealed = draft.chain.latest().block.header.timestamp;
        let clock = self.producer.writer.shared.clock.now();
        if clock.shifted(draft.chain.clock_offset()).unix.as_secs() < sealed {
            let offset = self.offset_to(sealed)?;
            draft.set_clock(offset);
        }
        let now = clock.shifted(draft.chain.clock_offset());
        Ok(match interval {
            Some(seconds) => BlockSlot::with_timestamp(
                now,
                sealed.saturating_add(seconds.max(1)),
                self.producer.mining.block_time(),
            ),
            None => self.producer.next_slot(&draft.chain, now),
        })
    }

    /// Sets the mining mode. The block being built continues under the new mode.
    pub fn set_mining(&mut self, mining: Mining) -> Result<(), ControlError> {
        self.developing()?;
        let slot = self.producing()?;
        self.producer.mining = mining;
        self.producer.slot =
            Some(BlockSlot::with_timestamp(self.producer.writer.now(), slot.timestamp, mining.block_time()));
        self.producer.writer.shared.set_automine(mining == Mining::Automatic);
        if mining == Mining::Automatic { self.producer.seal_executable(&mut || true) } else { Ok(()) }
    }
}
