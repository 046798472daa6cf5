//! State that the writing thread and the threads that serve requests share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use foreseal_cache::CacheMetrics;
use foreseal_chain::Clock;
use foreseal_pool::Pool;

use crate::{
    clock::clock_lead::ClockLead,
    observe::{activity::Activity, writer_metrics::WriterMetrics},
    settings::memory_budget::{MemoryBudget, MemoryUse},
    shared::{
        commands::Commands, health::Health, leadership::Leadership, payload_feed::PayloadFeed,
        publication::Publication, request_handler::RequestHandler, stop_signal::StopSignal,
    },
    store::store_writer::StoreObservers,
};

pub(crate) struct SharedState {
    pub(crate) publication: Arc<Publication>,
    pub(crate) health: Health,
    pub(crate) leadership: Leadership,
    pub(crate) stop: StopSignal,
    pub(crate) pool: Arc<Pool>,
    pub(crate) clock: Arc<dyn Clock>,
    memory: MemoryBudget,
    pub(crate) metrics: Arc<WriterMetrics>,
    pub(crate) clock_lead: ClockLead,
    /// Long commands of callers of [`Node::control`](crate::Node::control).
    pub(crate) commands: Commands,
    /// Activity of the writing thread.
    pub(crate) activity: Activity,
    /// Handler for the queries of followers.
    pub(crate) query_handler: RequestHandler,
    /// Visible steps of the payloads of a driver.
    pub(crate) payloads: PayloadFeed,
    /// Size in memory of the blocks of branches and finished payloads of a driver.
    pub(crate) driver_bytes: Arc<AtomicU64>,
    /// `true` while each submission is sealed at once.
    automine: AtomicBool,
}

impl SharedState {
    pub(crate) fn new(pool: Arc<Pool>, clock: Arc<dyn Clock>, memory: MemoryBudget) -> Self {
        let publication = Arc::new(Publication::new(clock.clone(), memory.share(MemoryUse::QueuedViews)));
        Self {
            health: Health::new(publication.clone()),
            publication,
            leadership: Leadership::default(),
            stop: StopSignal::default(),
            memory,
            pool,
            clock,
            metrics: Arc::default(),
            clock_lead: ClockLead::default(),
            commands: Commands::default(),
            activity: Activity::default(),
            query_handler: RequestHandler::default(),
            payloads: PayloadFeed::new(memory.driver_bytes()),
            driver_bytes: Arc::default(),
            automine: AtomicBool::new(false),
        }
    }

    /// Returns the memory budget of the process.
    pub(crate) fn memory(&self) -> MemoryBudget {
        self.memory
    }

    /// Returns the bytes of the pool and of chain data in memory that is not in a cache, and their maximum.
    pub(crate) fn memory_metrics(&self) -> Vec<CacheMetrics> {
        let view = self.publication.view();
        let blocks = view.as_ref().map_or(0, |view| view.block_bytes());
        let reorged = view.as_ref().map_or(0, |view| view.reorged_bytes());
        let queued = self.health.queued_bytes();
        let frames = self.publication.frames().map_or(0, |frames| frames.bytes());
        let driver = self.driver_bytes.load(Ordering::Relaxed) + self.payloads.bytes() as u64;
        [
            ("sealed_blocks", blocks as u64, MemoryUse::SealedBlocks),
            ("unstored_blocks", queued as u64, MemoryUse::SealedBlocks),
            ("queued_views", self.publication.feed.bytes(), MemoryUse::QueuedViews),
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

    /// Returns the observers of store writes: the watcher, if any, and the commit metrics.
    pub(crate) fn store_observers(&self) -> StoreObservers {
        let meter = Some((self.clock.clone(), self.metrics.clone()));
        StoreObservers { watcher: self.publication.watcher().cloned(), meter }
    }

    /// Returns `true` while each submission is sealed at once.
    pub(crate) fn is_automine(&self) -> bool {
        self.automine.load(Ordering::SeqCst)
    }

    pub(crate) fn set_automine(&self, automine: bool) {
        self.automine.store(automine, Ordering::SeqCst);
    }
}
