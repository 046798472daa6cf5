//! Slots that work off a lead of the chain over the clock, and the limit of that lead.

use std::time::Duration;

use foreseal_chain::{Chain, ClockReading};
use foreseal_replication::Phase;

use crate::{
    clock::slot::{BlockSlot, lead},
    errors::production_error::ProductionError,
    produce::block_producer::BlockProducer,
};

impl BlockProducer {
    /// Returns the slot of the block after the newest sealed block of `chain`, which may belong to a draft.
    pub(crate) fn next_slot(&self, chain: &Chain, now: ClockReading) -> BlockSlot {
        let (parent, block_time) = (chain.latest().block.header.timestamp, self.mining.block_time());
        if let Some(seconds) = self.timestamp_interval {
            BlockSlot::with_timestamp(now, parent.saturating_add(seconds), block_time)
        } else if self.follows_clock(chain) {
            BlockSlot::catching_up_after(now, parent, block_time)
        } else {
            BlockSlot::next_after(now, parent, block_time)
        }
    }

    /// Returns `true` if the timestamps of `chain` are those of the clock: no development method has set the time, and
    /// blocks are sealed by time.
    fn follows_clock(&self, chain: &Chain) -> bool {
        self.mining.is_timed() && chain.clock_offset() == 0 && self.timestamp_interval.is_none()
    }

    /// Returns the lead of the newest sealed block over the wall clock; zero if the chain has a clock of its own.
    fn clock_lead(&self, now: ClockReading) -> Duration {
        if !self.follows_clock(&self.writer.chain) {
            return Duration::ZERO;
        }
        lead(now, self.writer.chain.latest().block.header.timestamp)
    }

    /// Returns the error of a lead over the limit. Development chains have no limit.
    pub(crate) fn excessive_lead(&self, now: ClockReading) -> Option<ProductionError> {
        let (lead, limit) = (self.clock_lead(now), self.settings.max_clock_lead);
        let is_excessive = lead > limit && self.settings.development.is_none();
        is_excessive.then_some(ProductionError::AheadOfClock { lead: lead.as_secs(), limit: limit.as_secs() })
    }

    /// Publishes the lead over the clock. Returns `true` while it is over the limit: production pauses then, with red
    /// health, and resumes by itself.
    ///
    /// # Errors
    /// Returns the error of the limit on a member of a cluster, where another clock may be right.
    pub(crate) fn pauses_for_clock(&self, now: ClockReading) -> Result<bool, ProductionError> {
        self.writer.shared.clock_lead.set(self.clock_lead(now));
        let mut pause = self.writer.shared.clock_lead.pause.lock();
        match (self.excessive_lead(now), pause.as_ref()) {
            (Some(error), _) if self.writer.has_quorum() => return Err(error),
            (Some(error), None) => {
                let reason = error.to_string();
                tracing::error!(reason, "production stopped");
                self.writer.shared.health.set_phase(Phase::Failed(reason.clone()));
                *pause = Some(reason);
            }
            (None, Some(reason)) => {
                if self.writer.shared.health.resume(reason) {
                    tracing::info!("production continues: the chain is close enough to the clock");
                }
                *pause = None;
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(pause.is_some())
    }
}
