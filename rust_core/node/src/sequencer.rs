//! The single writer: ticks that seal, open and step.
//!
//! ```text
//!   tick:  slot ended?  -> append [seal N, open N+1] -> publish   (one swap: a pending block always exists)
//!          pool has work -> execute -> append [step] -> publish -> remove from the pool
//!          always        -> renew the freshness
//!          slot ended?  -> free what the sealed block replaced
//! ```
//!
//! Nothing is published before its append is durable. A failed append ends production for good. Everything
//! else that changes the chain is a [`ChainDraft`], which the modules of `control` build and this one commits.

use std::{sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_builder::{BuildError, DeferredTransactions, NextBlockAttributes};
use foreseal_chain::{Chain, ClockReading, FinalityDepth, Recorded, View};
use foreseal_journal::{Journal, JournalError, JournalReader, LocalJournal, RawAppend, Record};
use foreseal_pool::PoolSnapshot;
use foreseal_quorum::{QuorumJournal, QuorumWriter, RunId};
use foreseal_replication::{Phase, Production, wire::Welcome};
use parking_lot::Mutex;

use crate::{
    chain_draft::ChainDraft,
    driver_state::DriverState,
    environment::Randomness,
    mining::Mining,
    points::InspectionPoint,
    production_error::{ControlError, ProductionError},
    retired::Retired,
    settings::Settings,
    shared_state::SharedState,
    slot::BlockSlot,
    slow_lane::SlowLane,
    snapshots::Snapshots,
    start::Started,
    step_signer::StepSigner,
    step_stamp::StepStamp,
    store_writer::StoreWriter,
    write_queue::StoreFailed,
    writer_metrics::{StepStage, Stopwatch},
};

/// Inputs of blocks and steps other than transactions.
pub(crate) struct BlockInputs {
    pub random: Randomness,
    /// Signer of the steps; `None` on a node that produces none.
    pub signer: Option<Arc<StepSigner>>,
    /// Writer of the quorum journal; `None` if only this machine has the journal.
    pub quorum: Option<Arc<Mutex<QuorumWriter>>>,
}

/// Owner of chain and journal. The thread that holds its lock is the writer: the thread that ticks, or a
/// caller of [`Node::control`](crate::Node::control).
pub struct Sequencer {
    pub(crate) chain: Chain,
    journal: Box<dyn Journal>,
    store_writer: StoreWriter,
    /// Slot of the block being built; `None` on a node that only serves.
    pub(crate) slot: Option<BlockSlot>,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) settings: Settings,
    pub(crate) mining: Mining,
    /// Number of the block whose timestamp was set explicitly.
    pub(crate) fixed: Option<u64>,
    /// Seconds between the timestamps of blocks, if a development method has set them.
    pub(crate) timestamp_interval: Option<u64>,
    inputs: BlockInputs,
    /// Payload being built, and blocks of branches, under a driver.
    pub(crate) driver: DriverState,
    /// Settings of this process, which those of a followed one replace for readers.
    pub(crate) own_production: (Production, FinalityDepth),
    pub(crate) snapshots: Snapshots,
    /// Reason why nothing more can be written.
    pub(crate) halted: Option<String>,
    /// Appends that no view shows yet. Followers receive them together with the view.
    unshown: Vec<RawAppend>,
    /// Transactions that steps have executed and not included.
    pub(crate) deferred: DeferredTransactions,
    pub(crate) slow_lane: SlowLane,
    /// Time after which a step stops a transaction; `None` for no limit.
    pub(crate) transaction_time: Option<Duration>,
}

impl Sequencer {
    /// Takes over a replayed chain and publishes it. A node that produces continues its open block or opens
    /// the next one.
    pub(crate) fn start(
        started: Started,
        shared: Arc<SharedState>,
        settings: Settings,
        inputs: BlockInputs,
    ) -> Result<Self, ProductionError> {
        let Started { chain, journal, store_writer } = started;
        let journal: Box<dyn Journal> = match &inputs.quorum {
            Some(writer) => Box::new(QuorumJournal::new(journal, writer.clone())),
            None => Box::new(journal),
        };
        let mining = settings.initial_mining();
        shared.set_automine(mining == Mining::Automatic);
        let snapshots = Snapshots::default();
        let own_production = (settings.production.clone(), settings.finality_depth());
        let (slot, fixed, halted) = (None, None, None);
        let driver = DriverState::new(settings.store.memory.driver_bytes(), shared.driver_bytes.clone());
        let mut sequencer = Self {
            chain,
            journal,
            store_writer,
            slot,
            shared,
            settings,
            mining,
            fixed,
            timestamp_interval: None,
            inputs,
            driver,
            own_production,
            snapshots,
            halted,
            unshown: Vec::new(),
            deferred: DeferredTransactions::default(),
            slow_lane: SlowLane::default(),
            transaction_time: None,
        };
        let begun = if sequencer.settings.leads_at_start() { sequencer.begin() } else { Ok(()) };
        // Even if production cannot begin, reads of durable data are served.
        let view = sequencer.view()?;
        sequencer.publish(view);
        begun.map(|()| sequencer)
    }

    /// Continues the open block, or opens the next one.
    pub(crate) fn begin(&mut self) -> Result<(), ProductionError> {
        let now = self.now();
        self.shared.tick(now.monotonic);
        self.store_writer.check()?;
        if self.mining == Mining::Driver {
            // The driver continues the open block, or opens another.
            return Ok(());
        }
        let mut draft = self.draft();
        let slot = match self.chain.open_block().map(|open| (open.index(), open.header().timestamp)) {
            // The steps of a chain that ran without automine: its first view shows them sealed.
            Some((1.., _)) if self.mining == Mining::Automatic => self.seal_and_open_in(&mut draft, now)?,
            Some((_, timestamp)) => {
                self.slot = Some(BlockSlot::with_timestamp(now, timestamp, self.mining.block_time()));
                return Ok(());
            }
            None => {
                let slot = self.next_slot(&self.chain, now);
                draft.open(&self.next_block_attributes(slot.timestamp))?;
                slot
            }
        };
        self.append_to_journal(&draft.records)?;
        self.adopt(draft.chain)?;
        self.slot = Some(slot);
        Ok(())
    }

    /// Returns the time on the chain's clock: the wall clock, plus an offset on development chains.
    pub fn now(&self) -> ClockReading {
        self.shared.clock.now().shifted(self.chain.clock_offset())
    }

    /// Returns the time and signer for a step that is made now.
    fn stamp(&self) -> StepStamp {
        StepStamp::at(self.shared.clock.now(), self.inputs.signer.clone())
    }

    /// Creates an empty draft.
    pub(crate) fn draft(&self) -> ChainDraft {
        ChainDraft::new(&self.chain, self.stamp())
    }

    /// Returns the attributes of the next block, with this timestamp.
    pub(crate) fn next_block_attributes(&mut self, timestamp: u64) -> NextBlockAttributes {
        let production = &self.settings.production;
        NextBlockAttributes {
            merged: true,
            timestamp,
            mix_hash: (self.inputs.random)(),
            beneficiary: production.beneficiary,
            gas_limit: production.gas_limit.unwrap_or(self.chain.spec().genesis().gas_limit),
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
    pub(crate) fn due(&self) -> Option<Duration> {
        self.slot.filter(|_| self.mining.is_timed()).map(|slot| slot.due)
    }

    /// Runs one tick: see [`Producer::tick`](crate::Producer::tick). Does nothing on a node that only serves.
    pub(crate) fn tick(
        &mut self,
        now: ClockReading,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ProductionError> {
        let done = self.try_tick(now, keep_going);
        if let Err(error) = &done
            && error.is_failure()
        {
            self.shared.set_phase(Phase::Failed(error.to_string()));
        }
        done
    }

    fn try_tick(
        &mut self,
        now: ClockReading,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ProductionError> {
        if self.pauses_for_clock(now)? {
            return Ok(());
        }
        if let Some(reason) = self.halted.clone().or_else(|| self.shared.failure()) {
            return Err(ProductionError::Halted(reason));
        }
        self.store_writer.check()?;
        if self.mining == Mining::Driver {
            return self.tick_driven(keep_going);
        }
        let Some(slot) = self.slot else { return Ok(()) };
        let (is_commanded, mut retired) = (self.shared.commands.is_running(), None);
        if !is_commanded && self.mining.is_timed() && slot.ended(now) {
            retired = Some(self.seal_and_open_next(now.shifted(self.chain.clock_offset()))?);
        }
        self.collect_slow();
        match self.mining {
            _ if is_commanded => {}
            Mining::Automatic => self.seal_executable(keep_going).map_err(ControlError::into_production)?,
            Mining::Manual if self.shared.pool.counts().pooled > 0 => {
                self.catch_up().map_err(ControlError::into_production)?;
                self.step(keep_going)?;
            }
            Mining::Manual | Mining::Interval { .. } | Mining::Driver => drop(self.step(keep_going)?),
        }
        self.execute_slow();
        // A writer that cannot prove that it still is one does not claim freshness.
        if self.journal.beat()? {
            self.shared.tick(now.monotonic);
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
    pub(crate) fn seal_draft_and_open_next(
        &mut self,
        mut draft: ChainDraft,
        now: ClockReading,
    ) -> Result<(), ProductionError> {
        let slot = self.seal_and_open_in(&mut draft, now)?;
        self.commit(draft, slot)
    }

    /// Seals the block being built in `draft` and opens the next there. Returns the slot of the new block.
    pub(crate) fn seal_and_open_in(
        &mut self,
        draft: &mut ChainDraft,
        now: ClockReading,
    ) -> Result<BlockSlot, ProductionError> {
        draft.seal()?;
        self.shared.reached(InspectionPoint::BetweenSealAndOpen);
        let slot = self.next_slot(&draft.chain, now);
        draft.open(&self.next_block_attributes(slot.timestamp))?;
        Ok(slot)
    }

    /// Makes a draft durable and publishes it. `slot` is the slot of its open block.
    pub(crate) fn commit(
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
        self.append_to_journal(&draft.records)?;
        self.shared.metrics.committed(&draft.records);
        let retired = self.replace(draft.chain)?.with_view(draft.before, self.shared.view());
        self.slot = slot.into();
        let view = Arc::new(self.view()?);
        // The transactions return to the pool before the view without them is published, so readers always
        // find them in the pool or in the view.
        let returned = match draft.returning {
            Some(returning) => {
                let dropped = self.shared.pool.reinsert(&returning, || view.clone());
                self.shared.feed.arrived();
                dropped.map(drop)
            }
            None => Ok(()),
        };
        self.show(view);
        self.publish_fees();
        self.trim();
        returned?;
        Ok(retired)
    }

    /// Commits like [`Self::commit`], and resets the pool to the snapshot `pool`.
    pub(crate) fn restore(&mut self, draft: ChainDraft, pool: &PoolSnapshot) -> Result<(), ProductionError> {
        self.append_to_journal(&draft.records)?;
        self.adopt(draft.chain)?;
        self.shared.pool.reset(pool);
        let view = self.view()?;
        self.publish(view);
        self.publish_fees();
        self.trim();
        Ok(())
    }

    pub(crate) fn append_to_journal(&mut self, records: &[Record]) -> Result<(), ProductionError> {
        if records.is_empty() {
            return Ok(());
        }
        // A follower may meanwhile have proved that the journal has lost appends.
        if let Some(reason) = self.shared.failure() {
            return Err(ProductionError::Halted(reason));
        }
        self.append_with(|journal| journal.append(records))
    }

    /// Appends records that another process made durable, to the journal on this machine only.
    pub(crate) fn append_replicated(&mut self, records: &[Record]) -> Result<(), ProductionError> {
        self.append_with(|journal| journal.local_mut().append(records))
    }

    fn append_with(
        &mut self,
        append: impl FnOnce(&mut dyn Journal) -> Result<u64, JournalError>,
    ) -> Result<(), ProductionError> {
        // These records may derive from reads of the store, and a damaged store must not be built upon.
        self.store_writer.check()?;
        self.shared.reached(InspectionPoint::BeforeAppend);
        let mut stopwatch = Stopwatch::begin(&*self.shared.clock);
        let waiting = self.shared.activity.wait_for_disk();
        append(&mut *self.journal)?;
        drop(waiting);
        self.shared.metrics.append.add(stopwatch.lap());
        self.shared.metrics.journal_is(self.journal.local());
        self.shared.reached(InspectionPoint::Appended);
        if self.shared.frames().is_some() {
            self.unshown.extend(self.journal.local().newest());
        }
        Ok(())
    }

    /// Returns `true` if other machines have the journal as well.
    pub(crate) fn has_quorum(&self) -> bool {
        self.inputs.quorum.is_some()
    }

    /// Returns `true` if this process writes the chain.
    pub(crate) fn leads(&self) -> bool {
        self.slot.is_some()
    }

    /// Proves to other machines that this process still writes the chain, if that is due.
    pub(crate) fn beat(&mut self) -> Result<(), ProductionError> {
        self.journal.beat()?;
        Ok(())
    }

    /// Releases the ownership of the chain, preferably in favour of `successor`.
    ///
    /// # Errors
    /// Returns the reason if the quorum has not confirmed it. The ownership is given up in any case.
    pub(crate) fn release(&mut self, successor: Option<RunId>) -> Result<(), String> {
        match &self.inputs.quorum {
            Some(writer) => writer.lock().release(successor).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Returns the journal on this machine.
    pub(crate) fn local_journal(&self) -> &LocalJournal {
        self.journal.local()
    }

    /// Returns the sequence number of the next append.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.journal.local().next_sequence()
    }

    /// Returns the content hash of the newest append; `None` if there is none. `past` reads the journal.
    ///
    /// # Errors
    /// Returns the reason if the append cannot be read.
    pub(crate) fn last_hash(&self, past: &JournalReader) -> Result<Option<B256>, String> {
        let next = self.next_sequence();
        let Some(sequence) = next.checked_sub(1) else { return Ok(None) };
        if let Some(hash) = self.journal.local().newest_hash() {
            return Ok(Some(hash));
        }
        let mut appends = past.up_to(next).raw_appends(sequence).map_err(|error| error.to_string())?;
        match appends.next().transpose().map_err(|error| error.to_string())? {
            Some(append) if append.sequence == sequence => Ok(Some(append.hash)),
            _ => Err(format!("the journal here lacks its append {sequence}")),
        }
    }

    /// Continues the chain as its writer: brings the pool up to date and continues the open block.
    pub(crate) fn lead(&mut self) -> Result<(), ProductionError> {
        (self.settings.production, self.settings.finality) = self.own_production.clone();
        self.begin()?;
        let view = Arc::new(self.view()?);
        // Steps that the pool has not heard of may have changed its senders.
        self.shared.pool.reinsert(&[], || view.clone())?;
        self.show(view);
        self.publish_fees();
        Ok(())
    }

    /// Adopts the settings of the process that this one follows, with which readers see what it would build.
    pub(crate) fn follow_settings_of(&mut self, welcome: &Welcome) {
        self.settings.production = welcome.production.clone();
        self.settings.finality = welcome.depth;
    }

    pub(crate) fn trim(&mut self) {
        self.shared.reached(InspectionPoint::BeforeTrim);
        let _waiting = self.shared.activity.wait_for_disk();
        self.store_writer.trim(self.journal.local_mut());
    }

    /// Notifies the pool of the fees of the block being built.
    pub(crate) fn publish_fees(&self) {
        if let Some(view) = self.shared.view() {
            let (base_fee, blob_base_fee) = self.chain.spec().base_fees(&view.pending().block.header);
            self.shared.pool.on_fees(base_fee, blob_base_fee);
        }
    }

    /// Returns `true` if a block should be open and none is: a change that failed midway cannot be continued.
    pub(crate) fn is_broken(&self) -> bool {
        self.slot.is_some() && self.chain.open_block().is_none()
    }

    /// Replaces the chain by one whose records are durable, and passes its changes to the store.
    pub(crate) fn adopt(&mut self, chain: Chain) -> Result<(), ProductionError> {
        self.replace(chain).map(drop)
    }

    /// Does the same as [`Self::adopt`], and returns the parts that were replaced.
    fn replace(&mut self, chain: Chain) -> Result<Retired, ProductionError> {
        let before = std::mem::replace(&mut self.chain, chain);
        let sequence = self.next_sequence().saturating_sub(1);
        let waiting = self.shared.activity.wait_for_disk();
        self.store_writer.follow(&mut self.chain, sequence)?;
        drop(waiting);
        Ok(Retired::new(before, self.chain.remove_expired()))
    }

    /// Writes one batch to the store: see [`Node::write_store`](crate::Node::write_store).
    pub(crate) fn write_store(&self) -> bool {
        self.store_writer.write()
    }

    /// Records durably that the journal ends here cleanly.
    pub(crate) fn close_journal(&mut self) -> Result<(), JournalError> {
        self.journal.local_mut().close()
    }

    /// Waits until the store holds everything that was queued.
    pub(crate) fn drain(&self) -> Result<(), StoreFailed> {
        let _waiting = self.shared.activity.wait_for_disk();
        self.store_writer.drain()
    }

    /// Executes the pool's best transactions as one step. Returns `true` if a step was made.
    pub(crate) fn step(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<bool, ProductionError> {
        let (clock, metrics) = (self.shared.clock.clone(), self.shared.metrics.clone());
        let mut stopwatch = Stopwatch::begin(&*clock);
        let limits = self.step_limits();
        let Some((block, flashblock)) = self.execute(limits, keep_going)? else { return Ok(false) };
        let step = self.stamp().stamp_and_sign(flashblock);
        let recorded = Recorded { step: step.clone(), change: None };
        stopwatch.lap();
        self.append_to_journal(&[Record::Step(step.clone())])?;
        metrics.stage(StepStage::Sync).add(stopwatch.lap());
        tracing::debug!(hash = %step.hash, transactions = step.transactions.len(), "step is durable");
        self.chain.push_step(block, recorded);
        let view = self.view()?;
        self.publish(view);
        metrics.stage(StepStage::Publish).add(stopwatch.lap());
        self.shared.pool.on_step(&step.transactions, &step.diff);
        metrics.stage(StepStage::Pool).add(stopwatch.lap());
        metrics.step.add(stopwatch.whole());
        metrics.stepped(&step);
        Ok(true)
    }

    fn publish(&mut self, view: View) {
        self.show(Arc::new(view));
    }

    /// Publishes a view to local readers, and the appends behind it to followers.
    fn show(&mut self, view: Arc<View>) {
        self.shared.publish(view);
        self.send_unshown();
    }

    /// Publishes the appends that no follower has received.
    pub(crate) fn send_unshown(&mut self) {
        if let Some(frames) = self.shared.frames() {
            self.unshown.drain(..).for_each(|append| frames.append(append));
        }
    }

    /// Returns the view for readers. On a node that only serves, its pending block is a placeholder.
    pub(crate) fn view(&self) -> Result<View, BuildError> {
        match self.chain.view() {
            Some(view) => Ok(view),
            None => self.chain.idle_view(&self.settings.production.idle_opening(&self.chain)),
        }
    }

    /// Returns the time budget for selecting transactions within a step; the rest is for roots and the fsync.
    /// The budget shrinks, down to zero, while the store is behind.
    ///
    /// A caller that owns the clock is not bound by it, so a step's content never depends on the speed of a
    /// disk. Far beyond the store's limit, sealing blocks instead.
    pub(crate) fn budget(&self) -> Duration {
        self.settings.production.step / 2 * self.store_writer.share() / 1000
    }
}
