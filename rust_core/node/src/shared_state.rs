//! State that the writing thread and the threads that serve requests share.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use foreseal_cache::CacheMetrics;
use foreseal_chain::{Clock, Feed, View};
use foreseal_pool::Pool;
use foreseal_replication::{FrameLog, Phase, PoolStart, ScrubStatus, StoreStatus, SubmitError};
use foreseal_store::{DamageReport, Store};
use parking_lot::{Condvar, Mutex};

use crate::{
    activity::Activity,
    changes::Changes,
    clock_lead::ClockLead,
    control::commands::Commands,
    memory_budget::{MemoryBudget, MemoryUse},
    payload_feed::PayloadFeed,
    points::{InspectionPoint, Watcher},
    request_handler::RequestHandler,
    status::ScrubProgress,
    store_writer::{StoreGauge, StoreObservers},
    writer_metrics::WriterMetrics,
};

/// Minimum of the age of the last tick beyond which a leader is not confirmed by its quorum.
const MIN_UNCONFIRMED: Duration = Duration::from_secs(1);

pub(crate) struct SharedState {
    pub(crate) feed: Feed,
    pub(crate) pool: Arc<Pool>,
    pub(crate) clock: Arc<dyn Clock>,
    memory: MemoryBudget,
    /// Monotonic time of the last tick, in microseconds; negative if the tick was before this clock began.
    ticked: AtomicI64,
    /// Monotonic time of the last frame from the sequencer, in microseconds.
    last_frame: AtomicI64,
    /// Log of frames for followers; unset if this process serves none.
    frames: OnceLock<Arc<FrameLog>>,
    gauge: OnceLock<StoreGauge>,
    /// Store that this process reads.
    store: OnceLock<Store>,
    scrub: ScrubProgress,
    /// `true` while this process scrubs its store.
    scrubs: AtomicBool,
    watcher: OnceLock<Arc<dyn Watcher>>,
    pub(crate) metrics: Arc<WriterMetrics>,
    pub(crate) clock_lead: ClockLead,
    /// Long commands of callers of [`Node::control`](crate::Node::control).
    pub(crate) commands: Commands,
    /// Activity of the writing thread.
    pub(crate) activity: Activity,
    /// Handler for the queries of followers.
    pub(crate) query_handler: RequestHandler,
    phase: Mutex<(Phase, PoolStart)>,
    /// Counter of events that waiting readers re-check on: a new view, the end of production, damage, answers
    /// from the sequencer.
    pub(crate) changes: Changes,
    /// Visible steps of the payloads of a driver.
    pub(crate) payloads: PayloadFeed,
    /// Size in memory of the blocks of branches and finished payloads of a driver.
    pub(crate) driver_bytes: Arc<AtomicU64>,
    /// `true` while each submission is sealed at once.
    automine: AtomicBool,
    /// `true` while this process writes the chain, or will once its journal is replayed.
    leads: AtomicBool,
    /// Age of the last tick, in microseconds, beyond which the quorum has not confirmed this writer; 0 without a
    /// quorum.
    max_unconfirmed: AtomicI64,
    stopping: AtomicBool,
    stop_lock: Mutex<()>,
    stop_wake: Condvar,
}

impl SharedState {
    pub(crate) fn new(pool: Arc<Pool>, clock: Arc<dyn Clock>, memory: MemoryBudget) -> Self {
        let now = micros(clock.now().monotonic);
        let feed = Feed::default();
        feed.set_max_bytes(memory.share(MemoryUse::QueuedViews));
        Self {
            feed,
            memory,
            pool,
            clock,
            ticked: AtomicI64::new(now),
            last_frame: AtomicI64::new(now),
            frames: OnceLock::new(),
            gauge: OnceLock::new(),
            store: OnceLock::new(),
            scrub: ScrubProgress::default(),
            scrubs: AtomicBool::new(false),
            watcher: OnceLock::new(),
            metrics: Arc::default(),
            clock_lead: ClockLead::default(),
            commands: Commands::default(),
            activity: Activity::default(),
            query_handler: RequestHandler::default(),
            phase: Mutex::new((Phase::Replaying { records: 0 }, PoolStart::New)),
            changes: Changes::default(),
            payloads: PayloadFeed::new(memory.driver_bytes()),
            driver_bytes: Arc::default(),
            automine: AtomicBool::new(false),
            leads: AtomicBool::new(true),
            max_unconfirmed: AtomicI64::new(0),
            stopping: AtomicBool::new(false),
            stop_lock: Mutex::new(()),
            stop_wake: Condvar::new(),
        }
    }

    /// Returns the newest view; `None` until the journal is replayed.
    pub(crate) fn view(&self) -> Option<Arc<View>> {
        self.feed.view()
    }

    /// Publishes a view to readers. Its content must be durable already.
    pub(crate) fn publish(&self, view: Arc<View>) {
        self.reached(InspectionPoint::BeforePublish);
        self.feed.publish(view);
        self.changes.notify();
        self.reached(InspectionPoint::Published);
    }

    /// Records a tick, which renews the freshness that readers see.
    pub(crate) fn tick(&self, at: Duration) {
        self.ticked.store(micros(at), Ordering::Release);
        self.feed.tick();
        if let Some(frames) = self.frames() {
            frames.tick();
        }
    }

    /// Returns the memory budget of the process.
    pub(crate) fn memory(&self) -> MemoryBudget {
        self.memory
    }

    /// Returns the bytes of the pool and of chain data in memory that is not in a cache, and their maximum.
    pub(crate) fn memory_metrics(&self) -> Vec<CacheMetrics> {
        let view = self.view();
        let blocks = view.as_ref().map_or(0, |view| view.block_bytes());
        let reorged = view.as_ref().map_or(0, |view| view.reorged_bytes());
        let queued = self.gauge.get().map_or(0, StoreGauge::queued_bytes);
        let frames = self.frames().map_or(0, |frames| frames.bytes());
        let driver = self.driver_bytes.load(Ordering::Relaxed) + self.payloads.bytes() as u64;
        [
            ("sealed_blocks", blocks as u64, MemoryUse::SealedBlocks),
            ("unstored_blocks", queued as u64, MemoryUse::SealedBlocks),
            ("queued_views", self.feed.bytes(), MemoryUse::QueuedViews),
            ("frames", frames as u64, MemoryUse::Frames),
            ("reorged_blocks", reorged as u64, MemoryUse::ReorgedBlocks),
            ("driver_blocks", driver, MemoryUse::DriverBlocks),
            ("pool", self.pool.counts().bytes as u64, MemoryUse::Pool),
        ]
        .map(|(name, bytes, what)| CacheMetrics {
            name,
            hits: 0,
            misses: 0,
            bytes,
            capacity: self.memory.share(what),
        })
        .into()
    }

    /// Records that the last tick of the sequencer was `age` ago. `ticked` is `true` if that tick is a new
    /// one.
    pub(crate) fn record_sequencer_tick(&self, age: Duration, ticked: bool) {
        let now = micros(self.clock.now().monotonic);
        self.ticked.store(now.saturating_sub(micros(age)), Ordering::Release);
        if ticked {
            self.feed.tick();
            if let Some(frames) = self.frames() {
                frames.tick();
            }
        }
    }

    /// Records that a frame from the sequencer arrived.
    pub(crate) fn record_frame(&self) {
        self.last_frame.store(micros(self.clock.now().monotonic), Ordering::Release);
    }

    /// Returns the time since the last frame from the sequencer.
    pub(crate) fn time_since_frame(&self) -> Duration {
        self.since(&self.last_frame)
    }

    /// Returns a value that changes with each tick.
    pub(crate) fn ticked(&self) -> i64 {
        self.ticked.load(Ordering::Acquire)
    }

    /// Returns a value that changes with each frame from the sequencer.
    pub(crate) fn heard_at(&self) -> i64 {
        self.last_frame.load(Ordering::Acquire)
    }

    fn since(&self, then: &AtomicI64) -> Duration {
        let now = micros(self.clock.now().monotonic);
        Duration::from_micros(now.saturating_sub(then.load(Ordering::Acquire)).try_into().unwrap_or(0))
    }

    /// Returns the log of frames for followers; `None` if this process serves none.
    pub(crate) fn frames(&self) -> Option<&Arc<FrameLog>> {
        self.frames.get()
    }

    pub(crate) fn set_frames(&self, frames: Arc<FrameLog>) {
        self.frames.get_or_init(|| frames);
    }

    /// Returns the time since the last tick.
    pub(crate) fn age(&self) -> Duration {
        self.since(&self.ticked)
    }

    /// Notifies `watcher` of every point that is reached from now on.
    pub(crate) fn set_watcher(&self, watcher: Arc<dyn Watcher>) {
        self.watcher.get_or_init(|| watcher);
    }

    /// Returns the observers of store writes: the watcher, if any, and the commit metrics.
    pub(crate) fn store_observers(&self) -> StoreObservers {
        let meter = Some((self.clock.clone(), self.metrics.clone()));
        StoreObservers { watcher: self.watcher().cloned(), meter }
    }

    pub(crate) fn watcher(&self) -> Option<&Arc<dyn Watcher>> {
        self.watcher.get()
    }

    pub(crate) fn reached(&self, point: InspectionPoint) {
        if let Some(watcher) = self.watcher() {
            watcher.reached(point);
        }
    }

    /// Publishes the gauge from which the store's progress is read.
    pub(crate) fn set_gauge(&self, gauge: StoreGauge) {
        self.gauge.get_or_init(|| gauge);
    }

    pub(crate) fn store_status(&self) -> Option<StoreStatus> {
        let scrub = self.scrub.lock().clone();
        self.gauge.get().map(|gauge| StoreStatus { scrub, ..gauge.status() })
    }

    /// Sets the store that this process reads. Damage to it ends production.
    pub(crate) fn set_store(&self, store: Store) {
        self.store.get_or_init(|| store);
    }

    /// Returns the progress that the scrub updates.
    pub(crate) fn scrub_progress(&self) -> &ScrubProgress {
        &self.scrub
    }

    /// Records whether this process scrubs its store or leaves that to another process.
    pub(crate) fn set_scrubs(&self, scrubs: bool) {
        self.scrubs.store(scrubs, Ordering::Release);
    }

    /// Returns the store status of a follower, based on the status that the sequencer reported. The scrub of
    /// this process, if it runs one, and damage that this process found take precedence.
    pub(crate) fn followed_store(&self, sequencer: Option<StoreStatus>) -> Option<StoreStatus> {
        let damage = self.damage();
        let scrubs = self.scrubs.load(Ordering::Acquire);
        if !scrubs && damage.is_none() {
            return sequencer;
        }
        let store = self.store.get()?;
        let mut status = sequencer.unwrap_or_else(|| StoreStatus {
            head: store.head().ok().flatten().map(|head| head.number),
            backlog: 0,
            share: 1_000,
            bytes: store.size().used,
            failure: None,
            scrub: ScrubStatus::default(),
        });
        if scrubs {
            status.scrub = self.scrub.lock().clone();
        }
        status.failure = damage.or(status.failure);
        Some(status)
    }

    /// Returns the damage of the store that a read, a write or the scrub found.
    pub(crate) fn damage(&self) -> Option<String> {
        self.store.get().and_then(|store| store.damage().map(ToString::to_string))
    }

    /// Handles a damage report from another process that has the store open. Production stops unless the page
    /// proves to be sound.
    pub(crate) fn confirm_damage(&self, report: &DamageReport, reporter: &str) {
        let Some(store) = self.store.get() else { return };
        let DamageReport { reason, .. } = report;
        if store.confirm_damage(report) {
            tracing::error!(reason, reporter, "production stopped: another process found damage");
            self.changes.notify();
            if let Some(frames) = self.frames() {
                frames.wake();
            }
        } else {
            tracing::warn!(reason, reporter, "the page reported as damaged is intact");
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = self.phase.lock().0.clone();
        match (&phase, self.damage()) {
            (Phase::Stopped | Phase::Failed(_), _) | (_, None) => phase,
            (_, Some(damage)) => Phase::Failed(damage),
        }
    }

    /// Returns the reason why production stopped, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        match self.phase() {
            Phase::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        let failed = matches!(phase, Phase::Failed(_));
        self.phase.lock().0 = phase;
        if failed {
            self.changes.notify();
        }
        if let Some(frames) = self.frames() {
            frames.wake();
        }
    }

    /// Continues production that failed for `reason` alone. Returns `false` after another failure.
    pub(crate) fn resume(&self, reason: &str) -> bool {
        let mut phase = self.phase.lock();
        let failed_for_it = matches!(&phase.0, Phase::Failed(failed) if failed == reason);
        if failed_for_it {
            phase.0 = Phase::Producing;
        }
        drop(phase);
        if let Some(frames) = self.frames() {
            frames.wake();
        }
        failed_for_it
    }

    /// Sets the phase as the following thread sees it. A failure stays, and a process that writes the chain has
    /// the phase of its writer.
    pub(crate) fn set_following_phase(&self, phase: Phase) {
        let mut own = self.phase.lock();
        if matches!(own.0, Phase::Failed(_)) || self.leads() {
            return;
        }
        own.0 = phase;
        drop(own);
        self.changes.notify();
        if let Some(frames) = self.frames() {
            frames.wake();
        }
    }

    pub(crate) fn pool_start(&self) -> PoolStart {
        self.phase.lock().1
    }

    pub(crate) fn set_pool_start(&self, start: PoolStart) {
        self.phase.lock().1 = start;
    }

    /// Requests the writing thread to stop.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        let _guard = self.stop_lock.lock();
        self.stop_wake.notify_all();
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Sleeps for `wait`, or until a stop is requested.
    pub(crate) fn sleep(&self, wait: Duration) {
        let mut guard = self.stop_lock.lock();
        if !self.stopping() {
            self.stop_wake.wait_for(&mut guard, wait);
        }
    }

    /// Returns `true` while this process writes the chain, or will once its journal is replayed.
    pub(crate) fn leads(&self) -> bool {
        self.leads.load(Ordering::SeqCst)
    }

    pub(crate) fn set_leads(&self, leads: bool) {
        self.leads.store(leads, Ordering::SeqCst);
    }

    /// Records that a quorum must confirm at each tick, which are `step` apart, that this process writes the
    /// chain.
    pub(crate) fn set_uses_quorum(&self, step: Duration) {
        self.max_unconfirmed.store(micros(MIN_UNCONFIRMED.max(step * 2)), Ordering::SeqCst);
    }

    /// Returns the age of the last tick beyond which the quorum has not confirmed this writer; `None` without a
    /// quorum.
    pub(crate) fn max_unconfirmed(&self) -> Option<Duration> {
        let limit = u64::try_from(self.max_unconfirmed.load(Ordering::SeqCst)).unwrap_or(0);
        (limit > 0).then(|| Duration::from_micros(limit))
    }

    /// Checks that the quorum, if one is needed, has confirmed this writer recently.
    pub(crate) fn check_quorum(&self) -> Result<(), SubmitError> {
        let age = self.age();
        if self.leads() && self.max_unconfirmed().is_some_and(|limit| age > limit) {
            let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            return Err(SubmitError::NoQuorum { age_ms });
        }
        Ok(())
    }

    /// Returns `true` while each submission is sealed at once.
    pub(crate) fn is_automine(&self) -> bool {
        self.automine.load(Ordering::SeqCst)
    }

    pub(crate) fn set_automine(&self, automine: bool) {
        self.automine.store(automine, Ordering::SeqCst);
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
