//! The clock of a development chain.

use crate::{
    clock::slot::BlockSlot, development::development_control::DevelopmentControl,
    errors::production_error::ControlError,
};

impl DevelopmentControl<'_> {
    /// Advances the clock, and with it the block being built. Returns by how many seconds the clock is now
    /// ahead of the wall clock.
    ///
    /// If the timestamp of the block being built was set, the clock shows that timestamp when the block is sealed, as
    /// in anvil and hardhat: this changes nothing then.
    pub fn increase_time(&mut self, seconds: u64) -> Result<i64, ControlError> {
        let by = millis(seconds)?;
        let offset =
            self.producer.writer.chain.clock_offset().checked_add(by).ok_or(ControlError::Clock(seconds))?;
        self.developing()?;
        self.producing()?;
        if !self.producer.has_set_timestamp() {
            self.retime(offset)?;
        }
        Ok(offset / 1000)
    }

    /// Sets the clock to `unix` seconds. Returns by how many seconds that is later than before; 0 if it is
    /// earlier.
    pub fn set_time(&mut self, unix: u64) -> Result<u64, ControlError> {
        let before = self.producer.writer.now().unix.as_secs();
        self.retime(self.offset_to(unix)?)?;
        Ok(unix.saturating_sub(before))
    }

    /// Sets the exact timestamp (Unix seconds) of the block being built. The block is due one block time from
    /// now, and the clock then shows that timestamp.
    pub fn set_next_timestamp(&mut self, timestamp: u64) -> Result<(), ControlError> {
        self.developing()?;
        self.producing()?;
        let previous = self.producer.writer.chain.latest().block.header.timestamp;
        if timestamp <= previous {
            return Err(ControlError::Timestamp { timestamp, previous });
        }
        let offset = self.offset_to(timestamp.saturating_sub(self.producer.mining.block_time()))?;
        let mut draft = self.producer.draft();
        draft.set_clock(offset);
        let now = self.producer.writer.shared.clock.now().shifted(offset);
        self.producer.rebuild(
            draft,
            BlockSlot::with_timestamp(now, timestamp, self.producer.mining.block_time()),
            |_| {},
        )?;
        self.producer.fixed = Some(self.producer.writer.chain.latest().number() + 1);
        Ok(())
    }

    /// Makes each timestamp this many seconds later than the one before, from the block being built on. `None` lets
    /// them follow the clock again. Returns the interval before.
    pub fn set_timestamp_interval(&mut self, seconds: Option<u64>) -> Result<Option<u64>, ControlError> {
        self.developing()?;
        self.producing()?;
        let before = std::mem::replace(&mut self.producer.timestamp_interval, seconds);
        if !self.producer.has_set_timestamp() && before != seconds {
            let slot = self.producer.next_slot(&self.producer.writer.chain, self.producer.writer.now());
            self.producer.rebuild(self.producer.draft(), slot, |_| {})?;
        }
        Ok(before)
    }

    /// Returns the offset with which the clock shows `unix` seconds now.
    pub(crate) fn offset_to(&self, unix: u64) -> Result<i64, ControlError> {
        let now = i64::try_from(self.producer.writer.shared.clock.now().unix.as_millis()).unwrap_or(i64::MAX);
        millis(unix)?.checked_sub(now).ok_or(ControlError::Clock(unix))
    }

    fn retime(&mut self, offset: i64) -> Result<(), ControlError> {
        self.developing()?;
        self.producing()?;
        let mut draft = self.producer.draft();
        draft.set_clock(offset);
        let now = self.producer.writer.shared.clock.now().shifted(offset);
        let slot = self.producer.next_slot(&self.producer.writer.chain, now);
        let open =
            self.producer.writer.chain.open_block().map(|open| (open.number(), open.header().timestamp));
        match open {
            Some((number, timestamp))
                if self.producer.fixed == Some(number) || timestamp == slot.timestamp =>
            {
                Ok(self.producer.commit(
                    draft,
                    BlockSlot::with_timestamp(now, timestamp, self.producer.mining.block_time()),
                )?)
            }
            _ => self.producer.rebuild(draft, slot, |_| {}),
        }
    }
}

/// Converts seconds to milliseconds. Rejects times that the clock cannot represent, so that no block is
/// later.
fn millis(seconds: u64) -> Result<i64, ControlError> {
    let millis = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1000));
    millis.ok_or(ControlError::Clock(seconds))
}
