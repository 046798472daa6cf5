//! Production of blocks and steps, of a process that leads or may lead.
//!
//! ```text
//!   tick:  slot ended?  -> append [seal N, open N+1] -> publish   (one swap: a pending block always exists)
//!          pool has work -> execute -> append [step] -> publish -> remove from the pool
//!          always        -> renew the freshness
//!          slot ended?  -> free what the sealed block replaced
//! ```
//!
//! A failed append ends production for good. Everything else that changes the chain is a [`ChainDraft`], which
//! [`BlockProducer`] commits.

use std::{sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_builder::{BuildError, DeferredTransactions, NextBlockAttributes};
use foreseal_chain::{ClockReading, FinalityDepth, View};
use foreseal_pool::PoolSnapshot;
use foreseal_replication::{Production, wire::Welcome};

use crate::{
    clock::slot::BlockSlot,
    errors::production_error::{ControlError, ProductionError},
    observe::points::InspectionPoint,
    produce::{
        chain_draft::ChainDraft, chain_writer::ChainWriter, retired::Retired, slow_lane::SlowLane,
        step_signer::StepSigner, step_stamp::StepStamp,
    },
    settings::{Settings, environment::Randomness, mining::Mining},
};

/// Builder of blocks and steps on top of the chain of its writer.
pub(crate) struct BlockProducer {
    pub writer: ChainWriter,
    /// Slot of the block being built; `None` on a node that only serves.
    pub slot: Option<BlockSlot>,
    pub settings: Settings,
    pub mining: Mining,
    /// Number of the block whose timestamp was set explicitly.
    pub fixed: Option<u64>,
    /// Seconds between the timestamps of blocks, if a development method has set them.
    pub timestamp_interval: Option<u64>,
    random: Randomness,
    /// Signer of the steps; `None` on a node that produces none.
    signer: Option<Arc<StepSigner>>,
    /// Settings of this process, which those of a followed one replace for readers.
    pub own_production: (Production, FinalityDepth),
    /// Transactions that steps have executed and not included.
    pub deferred: DeferredTransactions,
    pub slow_lane: SlowLane,
    /// Time after which a step stops a transaction; `None` for no limit.
    pub transaction_time: Option<Duration>,
}

impl BlockProducer {
    /// Returns the producer on top of the chain of `writer`, with the mining mode of the settings. `signer` signs its
    /// steps.
    pub fn new(
        writer: ChainWriter,
        settings: Settings,
        random: Randomness,
        signer: Option<Arc<StepSigner>>,
    ) -> Self {
        let mining = settings.initial_mining();
        writer.shared.set_automine(mining == Mining::Automatic);
        let own_production = (settings.production.clone(), settings.finality_depth());
        Self {
            writer,
            slot: None,
            settings,
            mining,
            fixed: None,
            timestamp_interval: None,
            random,
            signer,
            own_production,
            deferred: DeferredTransactions::default(),
            slow_lane: SlowLane::default(),
            transaction_time: None,
        }
    }

    /// Continues the open block, or opens the next one.
    pub fn begin(&mut self) -> Result<(), ProductionError> {
        let now = self.writer.now();
        self.writer.shared.publication.tick(now.monotonic);
        self.writer.check_store()?;
        if self.mining == Mining::Driver {
            // The driver continues the open block, or opens another.
            return Ok(());
        }
        let mut draft = self.draft();
        let slot = match self.writer.chain.open_block().map(|open| (open.index(), open.header().timestamp)) {
            // The steps of a chain that ran without automine: its first view shows them sealed.
            Some((1.., _)) if self.mining == Mining::Automatic => self.seal_and_open_in(&mut draft, now)?,
            Some((_, timestamp)) => {
                self.slot = Some(BlockSlot::with_timestamp(now, timestamp, self.mining.block_time()));
                return Ok(());
            }
            None => {
                let slot = self.next_slot(&self.writer.chain, now);
                draft.open(&self.next_block_attributes(slot.timestamp))?;
                slot
            }
        };
        self.writer.append(&draft.records)?;
        drop(self.writer.adopt(draft.chain)?);
        self.slot = Some(slot);
        Ok(())
    }

    /// Returns the time and signer for a step that is made now.
    pub fn stamp(&self) -> StepStamp {
        StepStamp::at(self.writer.shared.clock.now(), self.signer.clone())
    }

    /// Creates an empty draft.
    pub fn draft(&self) -> ChainDraft {
        ChainDraft::new(&self.writer.chain, self.stamp())
    }

    /// Returns the attributes of the next block, with this timestamp.
    pub fn next_block_attributes(&mut self, timestamp: u64) -> NextBlockAttributes {
        let production = &self.settings.production;
        NextBlockAttributes {
            merged: true,
            timestamp,
            mix_hash: (self.random)(),
            beneficiary: production.beneficiary,
            gas_limit: production.gas_limit.unwrap_or(self.writer.chain.spec().genesis().gas_limit),
            extra_data: production.extra_data.clone(),
            exact_gas_limit: None,
            base_fee: None,
            parent_beacon_block_root: B256::ZERO,
            withdrawals: Vec::new(),
            transactions: Vec::new(),
        }
    }

    /// Returns the monotonic time at which the block being built is due; `None` if blocks are not sealed by
    /// time.
    pub fn due(&self) -> Option<Duration> {
        self.slot.filter(|_| self.mining.is_timed()).map(|slot| slot.due)
    }

    /// Runs one tick of production that follows the clock or the pool. Does nothing on a node that only serves.
    pub fn tick(
        &mut self,
        now: ClockReading,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ProductionError> {
        let Some(slot) = self.slot else { return Ok(()) };
        let (is_commanded, mut retired) = (self.writer.shared.commands.is_running(), None);
        if !is_commanded && self.mining.is_timed() && slot.ended(now) {
            retired = Some(self.seal_and_open_next(now.shifted(self.writer.chain.clock_offset()))?);
        }
        self.collect_slow();
        match self.mining {
            _ if is_commanded => {}
            Mining::Automatic => self.seal_executable(keep_going).map_err(ControlError::into_production)?,
            Mining::Manual if self.writer.shared.pool.counts().pooled > 0 => {
                self.catch_up().map_err(ControlError::into_production)?;
                self.step(keep_going)?;
            }
            Mining::Manual | Mining::Interval { .. } | Mining::Driver => drop(self.step(keep_going)?),
        }
        self.execute_slow();
        // A writer that cannot prove that it still is one does not claim freshness.
        if self.writer.beat()? {
            self.writer.shared.publication.tick(now.monotonic);
        }
        drop(retired);
        Ok(())
    }

    /// Seals the block being built and opens the next, with one append and one swap of views. `now` is on the
    /// chain's clock.
    fn seal_and_open_next(&mut self, now: ClockReading) -> Result<Retired, ProductionError> {
        let mut draft = self.draft();
        let slot = self.seal_and_open_in(&mut draft, now)?;
        self.commit_retiring(draft, slot)
    }

    /// Seals the block being built in `draft` and opens the next, with one append and one swap of views.
    pub fn seal_draft_and_open_next(
        &mut self,
        mut draft: ChainDraft,
        now: ClockReading,
    ) -> Result<(), ProductionError> {
        let slot = self.seal_and_open_in(&mut draft, now)?;
        self.commit(draft, slot)
    }

    /// Seals the block being built in `draft` and opens the next there. Returns the slot of the new block.
    pub fn seal_and_open_in(
        &mut self,
        draft: &mut ChainDraft,
        now: ClockReading,
    ) -> Result<BlockSlot, ProductionError> {
        draft.seal()?;
        self.writer.shared.publication.reached(InspectionPoint::BetweenSealAndOpen);
        let slot = self.next_slot(&draft.chain, now);
        draft.open(&self.next_block_attributes(slot.timestamp))?;
        Ok(slot)
    }

    /// Makes a draft durable and publishes it. `slot` is the slot of its open block.
    pub fn commit(
        &mut self,
        draft: ChainDraft,
        slot: impl Into<Option<BlockSlot>>,
    ) -> Result<(), ProductionError> {
        self.commit_retiring(draft, slot).map(drop)
    }

    /// Does the same as [`Self::commit`], and returns the parts that the draft replaced.
    fn commit_retiring(
        &mut self,
        draft: ChainDraft,
        slot: impl Into<Option<BlockSlot>>,
    ) -> Result<Retired, ProductionError> {
        self.writer.append(&draft.records)?;
        self.writer.shared.metrics.committed(&draft.records);
        let retired =
            self.writer.adopt(draft.chain)?.with_view(draft.before, self.writer.shared.publication.view());
        self.slot = slot.into();
        let view = Arc::new(self.view()?);
        // The transactions return to the pool before the view without them is published, so readers always
        // find them in the pool or in the view.
        let returned = match draft.returning {
            Some(returning) => {
                let dropped = self.writer.shared.pool.reinsert(&returning, || view.clone());
                self.writer.shared.publication.feed.arrived();
                dropped.map(drop)
            }
            None => Ok(()),
        };
        self.writer.show(view);
        self.writer.publish_fees();
        self.writer.trim();
        returned?;
        Ok(retired)
    }

    /// Commits like [`Self::commit`], and resets the pool to the snapshot `pool`.
    pub fn restore(&mut self, draft: ChainDraft, pool: &PoolSnapshot) -> Result<(), ProductionError> {
        self.writer.append(&draft.records)?;
        drop(self.writer.adopt(draft.chain)?);
        self.writer.shared.pool.reset(pool);
        let view = self.view()?;
        self.writer.show(Arc::new(view));
        self.writer.publish_fees();
        self.writer.trim();
        Ok(())
    }

    /// Returns `true` if this process writes the chain.
    pub fn leads(&self) -> bool {
        self.slot.is_some()
    }

    /// Continues the chain as its writer: brings the pool up to date and continues the open block.
    pub fn lead(&mut self) -> Result<(), ProductionError> {
        (self.settings.production, self.settings.finality) = self.own_production.clone();
        self.begin()?;
        let view = Arc::new(self.view()?);
        // Steps that the pool has not heard of may have changed its senders.
        self.writer.shared.pool.reinsert(&[], || view.clone())?;
        self.writer.show(view);
        self.writer.publish_fees();
        Ok(())
    }

    /// Adopts the settings of the process that this one follows, with which readers see what it would build.
    pub fn follow_settings_of(&mut self, welcome: &Welcome) {
        self.settings.production = welcome.production.clone();
        self.settings.finality = welcome.depth;
    }

    /// Returns `true` if a block should be open and none is: a change that failed midway cannot be continued.
    pub fn is_broken(&self) -> bool {
        self.slot.is_some() && self.writer.chain.open_block().is_none()
    }

    /// Returns the view for readers. On a node that only serves, its pending block is a placeholder.
    pub fn view(&self) -> Result<View, BuildError> {
        match self.writer.chain.view() {
            Some(view) => Ok(view),
            None => self.writer.chain.idle_view(&self.settings.production.idle_opening(&self.writer.chain)),
        }
    }

    /// Returns the time budget for selecting transactions within a step; the rest is for roots and the fsync.
    /// The budget shrinks, down to zero, while the store is behind.
    ///
    /// A caller that owns the clock is not bound by it, so a step's content never depends on the speed of a
    /// disk. Far beyond the store's limit, sealing blocks instead.
    pub fn budget(&self) -> Duration {
        self.settings.production.step / 2 * self.writer.share() / 1000
    }
}
