//! The connection between the writer of the chain and the thread that writes the store.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
};

use alloy_primitives::Bytes;
use foreseal_chain::{Chain, Clock, History, NewestStoredBlock, StoreMeta, StoreUpdate, StoredHistory};
use foreseal_journal::LocalJournal;
use foreseal_replication::{ScrubStatus, StoreStatus};
use foreseal_scheduler::lower_priority;
use foreseal_store::{Store, StoreError};

use crate::{
    errors::store_failed::StoreFailed,
    observe::{
        points::{InspectionPoint, Watcher},
        writer_metrics::{Stopwatch, WriterMetrics},
    },
    settings::StoreSettings,
    store::{
        journal_checkpoints::JournalCheckpoints,
        store_job::{ImportedBlocks, StoreJob, Write},
        write_queue::{Job, WriteQueue},
    },
};

/// Limits of one store commit. All of its data is held in memory once more during the commit.
const BATCH_BLOCKS: usize = 256;
const BATCH_TRANSACTIONS: usize = 16_000;

/// Nice value of the thread that writes the store. Its work can wait, and it has most of it just after a block is
/// sealed, when the first step of the next one is due.
const STORE_NICE: i32 = 5;

/// The store, its writer thread, and the queue between them. Dropping it discards jobs that were not started,
/// as a crash does; the journal has them all.
#[derive(Debug)]
pub(crate) struct StoreWriter {
    store: Store,
    backlog: Arc<WriteQueue<StoreJob>>,
    confirmed: Arc<NewestStoredBlock>,
    checkpoints: JournalCheckpoints,
    /// Maximum size of the journal segments that the store has passed.
    retention_bytes: u64,
    executor: JobExecutor,
}

/// Observers of store writes.
#[derive(Clone, Default)]
pub(crate) struct StoreObservers {
    /// Watcher of a simulation. If set, the store gets no thread.
    pub watcher: Option<Arc<dyn Watcher>>,
    /// Clock and metrics for measuring commits.
    pub meter: Option<(Arc<dyn Clock>, Arc<WriterMetrics>)>,
}

/// Executor of the store's jobs.
#[derive(Debug)]
enum JobExecutor {
    /// Thread that writes the store; `None` once it is joined.
    Thread(Option<JoinHandle<()>>),
    /// Runner that the owner of the link calls, on request or when the queue is full.
    Owner(StoreJobRunner),
}

impl StoreWriter {
    /// Starts the link, with a thread unless there is a watcher. `note` is the metadata that the store holds.
    pub fn start(
        store: Store,
        settings: &StoreSettings,
        meta: &StoreMeta,
        observers: StoreObservers,
    ) -> Result<Self, StoreError> {
        let confirmed = Arc::new(NewestStoredBlock::default());
        confirmed.set(store.head()?.map(|head| head.number));
        let backlog = Arc::new(WriteQueue::new(settings.queue_limits()));
        let worker = StoreJobRunner {
            store: store.clone(),
            backlog: backlog.clone(),
            confirmed: confirmed.clone(),
            observers,
        };
        let executor = if worker.observers.watcher.is_some() {
            JobExecutor::Owner(worker)
        } else {
            let started = std::thread::Builder::new().name("foreseal-store".to_owned());
            let started = started.spawn(move || {
                lower_priority(STORE_NICE);
                while worker.run_once() {}
            });
            JobExecutor::Thread(Some(started.map_err(|error| StoreError::Lmdb(error.to_string()))?))
        };
        let checkpoints = JournalCheckpoints::new(meta.checkpoints.clone(), settings.retention);
        let retention_bytes = settings.retention_bytes;
        Ok(Self { store, backlog, confirmed, checkpoints, retention_bytes, executor })
    }

    /// Returns the store as a history of its current generation.
    pub fn history(&self) -> Result<Arc<dyn History>, StoreError> {
        Ok(Arc::new(StoredHistory::new(self.store.reader()?, self.confirmed.clone())))
    }

    /// Queues the changes of `chain` since the last call, which append `sequence` of the journal contains.
    /// Blocks while the store is far behind. If the chain was unwound, also waits until the store is, because
    /// the chain must read from the next generation then.
    pub fn follow(&mut self, chain: &mut Chain, sequence: u64) -> Result<(), StoreFailed> {
        let mut unwound = false;
        for update in chain.drain_store_updates() {
            match update {
                StoreUpdate::Sealed { block, changed, meta } => {
                    self.checkpoints.add(block.number(), sequence);
                    let meta = StoreMeta { chain: meta, checkpoints: self.checkpoints.list() }.encode();
                    self.add(StoreJob::Write(Box::new(Write { block, changed, sequence, meta })))?;
                }
                StoreUpdate::Unwound { to, meta } => {
                    self.checkpoints.unwind(to);
                    let meta = StoreMeta { chain: meta, checkpoints: self.checkpoints.list() }.encode();
                    self.add(StoreJob::Unwind { to, sequence, meta })?;
                    unwound = true;
                }
            }
        }
        if unwound {
            self.drain()?;
            chain.read_from(self.history().map_err(|error| StoreFailed(error.to_string()))?);
        }
        Ok(())
    }

    /// Queues the blocks that `chain` imported since the last call, which append `sequence` of the journal
    /// contains, to be written together. Blocks while the store is far behind. With `newest_nodes`, the store can
    /// prove the newest of them alone.
    pub fn follow_import(
        &mut self,
        chain: &mut Chain,
        sequence: u64,
        newest_nodes: bool,
    ) -> Result<(), StoreFailed> {
        let (mut writes, mut newest_meta) = (Vec::new(), None);
        for update in chain.drain_store_updates() {
            let StoreUpdate::Sealed { block, changed, meta } = update else {
                unreachable!("an import removes no block")
            };
            self.checkpoints.add(block.number(), sequence);
            newest_meta = Some(meta);
            writes.push(Write { block, changed, sequence, meta: Bytes::new() });
        }
        if let (Some(newest), Some(chain)) = (writes.last_mut(), newest_meta) {
            newest.meta = StoreMeta { chain, checkpoints: self.checkpoints.list() }.encode();
            self.add(StoreJob::Import(ImportedBlocks { writes, newest_nodes }))?;
        }
        Ok(())
    }

    fn add(&self, job: StoreJob) -> Result<(), StoreFailed> {
        while self.backlog.has_no_room() && self.write_without_thread() {}
        self.backlog.add(job)
    }

    /// Writes one batch if the owner runs the worker. Returns `true` if there was work.
    pub fn write_without_thread(&self) -> bool {
        match &self.executor {
            JobExecutor::Owner(worker) => self.backlog.has_jobs() && worker.run_once(),
            JobExecutor::Thread(_) => false,
        }
    }

    /// Removes the journal segments that neither store nor retention needs. A segment that cannot be removed
    /// stays.
    pub fn trim(&mut self, journal: &mut LocalJournal) {
        let stored = self.confirmed.get();
        let expired = stored.and_then(|stored| self.checkpoints.passed(stored));
        let excess = self.excess_before(journal).unwrap_or_else(|why| {
            tracing::warn!(why, "cannot bound the size of the journal");
            None
        });
        let Some(sequence) = expired.max(excess) else { return };
        match journal.remove_segments_before(sequence) {
            Ok(0) => {}
            Ok(removed) => tracing::debug!(removed, sequence, "journal segments removed"),
            Err(error) => tracing::warn!(%error, sequence, "cannot remove journal segments"),
        }
    }

    /// Returns the append before which the journal's segments exceed their maximum size; `None` if they do not. The
    /// store has all that comes before.
    fn excess_before(&self, journal: &mut LocalJournal) -> Result<Option<u64>, String> {
        let first = journal.first_within(self.retention_bytes).map_err(|error| error.to_string())?;
        if first <= journal.first_sequence() {
            return Ok(None);
        }
        let stored = self.store.progress().map_err(|error| error.to_string())?;
        Ok(stored.head.map(|_| first.min(stored.journal_sequence)))
    }

    /// Returns an error once the store cannot be written or is found damaged.
    pub fn check(&self) -> Result<(), StoreFailed> {
        match self.store.damage() {
            Some(damage) => Err(StoreFailed(damage.to_string())),
            None => self.backlog.check(),
        }
    }

    /// Returns the builder throttle in thousandths; 1000 is unthrottled.
    pub fn share(&self) -> u32 {
        self.backlog.share()
    }

    /// Waits until the store holds everything that was queued.
    pub fn drain(&self) -> Result<(), StoreFailed> {
        while self.write_without_thread() {}
        self.backlog.drained()
    }

    /// Returns the gauge from which the store's progress is read.
    pub fn gauge(&self) -> StoreGauge {
        StoreGauge {
            store: self.store.clone(),
            backlog: self.backlog.clone(),
            confirmed: self.confirmed.clone(),
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.backlog.abandon();
        if let JobExecutor::Thread(thread) = &mut self.executor
            && let Some(thread) = thread.take()
        {
            // The thread catches its own panics, so joining cannot fail.
            let _ = thread.join();
        }
    }
}

/// Read access to the store's progress, for the status.
#[derive(Clone, Debug)]
pub(crate) struct StoreGauge {
    store: Store,
    backlog: Arc<WriteQueue<StoreJob>>,
    confirmed: Arc<NewestStoredBlock>,
}

impl StoreGauge {
    /// Returns the reason why the store is no longer written, or must not be built upon.
    fn failure(&self) -> Option<String> {
        let damage = self.store.damage().map(ToString::to_string);
        damage.or_else(|| self.backlog.check().err().map(|failed| failed.to_string()))
    }

    /// Returns the size in memory of the blocks that the store does not have, in bytes.
    pub fn queued_bytes(&self) -> usize {
        self.backlog.load().bytes
    }

    pub fn status(&self) -> StoreStatus {
        StoreStatus {
            head: self.confirmed.get(),
            backlog: self.backlog.load().weight,
            share: self.backlog.share(),
            failure: self.failure(),
            bytes: self.store.size().used,
            scrub: ScrubStatus::default(),
        }
    }
}

/// Runner that writes queued jobs to the store.
struct StoreJobRunner {
    store: Store,
    backlog: Arc<WriteQueue<StoreJob>>,
    confirmed: Arc<NewestStoredBlock>,
    observers: StoreObservers,
}

impl std::fmt::Debug for StoreJobRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreJobRunner").field("store", &self.store).finish_non_exhaustive()
    }
}

impl StoreJobRunner {
    /// Waits for jobs and writes one batch. Returns `false` once the queue is closed or a write has failed.
    fn run_once(&self) -> bool {
        let jobs = self.backlog.pop_batch(BATCH_BLOCKS, BATCH_TRANSACTIONS);
        if jobs.is_empty() {
            return false;
        }
        let load = jobs.iter().map(Job::load).sum();
        let done = catch_unwind(AssertUnwindSafe(|| self.write_jobs(jobs)));
        let done = done.unwrap_or_else(|_| Err("internal error in the store's thread".to_owned()));
        if let Err(why) = done {
            tracing::error!(why, "cannot write the store");
            self.backlog.fail(why);
            return false;
        }
        self.backlog.finish(load);
        true
    }

    fn reached(&self, point: InspectionPoint) {
        if let Some(watcher) = &self.observers.watcher {
            watcher.reached(point);
        }
    }

    /// Commits one store transaction, and measures it.
    fn commit(&self, write: impl FnOnce(&Store) -> Result<(), StoreError>) -> Result<(), String> {
        self.reached(InspectionPoint::BeforeStoreCommit);
        match &self.observers.meter {
            Some((clock, metrics)) => {
                let mut stopwatch = Stopwatch::begin(&**clock);
                write(&self.store).map_err(|error| error.to_string())?;
                metrics.commit.add(stopwatch.lap());
            }
            None => write(&self.store).map_err(|error| error.to_string())?,
        }
        self.reached(InspectionPoint::StoreCommitted);
        Ok(())
    }

    fn write_jobs(&self, jobs: Vec<StoreJob>) -> Result<(), String> {
        // Readers of terminated processes are removed, so that the pages that they pinned can be reused.
        self.store.clear_stale_readers().map_err(|error| error.to_string())?;
        let mut writes = Vec::new();
        for job in jobs {
            match job {
                StoreJob::Write(write) => writes.push(write.prepare().map_err(|error| error.to_string())?),
                StoreJob::Import(blocks) => {
                    self.commit(|store| blocks.write(store))?;
                    self.confirmed.set(blocks.newest());
                }
                StoreJob::Unwind { to, sequence, meta } => {
                    self.commit(|store| store.unwind(to, sequence, &meta))?;
                    self.confirmed.set(Some(to));
                }
            }
        }
        let Some(newest) = writes.last().map(|write| write.block.header.number) else { return Ok(()) };
        self.commit(|store| store.write(&writes))?;
        self.confirmed.set(Some(newest));
        Ok(())
    }
}
