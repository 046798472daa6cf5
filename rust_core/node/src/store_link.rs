//! The store and the thread that writes it, as the writer of the chain sees them.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use foreseal_journal::Journal;
use foreseal_store::{Store, StoreError};
use foreseal_types::mutant;

use crate::{
    Chain, Clock, Figures, History, Point, ScrubStatus, StoreFailed, StoreSettings, StoreStatus, Watcher,
    backlog::{Backlog, Job},
    figures::Laps,
    marks::Marks,
    outgoing::{Note, Outgoing, StoreJob, Write},
    stored::StoredHistory,
};

/// What one transaction of the store holds at most: all of it is in memory once more.
const BATCH_BLOCKS: usize = 256;
const BATCH_TRANSACTIONS: usize = 16_000;

/// The store, its thread, and what is on the way to it. Dropping it leaves undone what was not begun, as a crash does; the
/// journal has it all.
#[derive(Debug)]
pub(crate) struct StoreLink {
    store: Store,
    backlog: Arc<Backlog<StoreJob>>,
    confirmed: Arc<Confirmed>,
    marks: Marks,
    hand: Hand,
}

/// Who looks on while the store is written.
#[derive(Clone, Default)]
pub(crate) struct Beside {
    /// With a watcher the store has no thread.
    pub watcher: Option<Arc<dyn Watcher>>,
    /// Measures the commits.
    pub meter: Option<(Arc<dyn Clock>, Arc<Figures>)>,
}

/// Who writes the store.
#[derive(Debug)]
enum Hand {
    /// `None` once it was joined.
    Thread(Option<JoinHandle<()>>),
    /// Whoever has the link, when it is told to or cannot go on without.
    Owner(Worker),
}

/// Number of the newest block in the store; one more, and 0 for none.
#[derive(Debug, Default)]
pub(crate) struct Confirmed(AtomicU64);

impl Confirmed {
    pub fn get(&self) -> Option<u64> {
        self.0.load(Ordering::Acquire).checked_sub(1)
    }

    pub fn set(&self, number: Option<u64>) {
        self.0.store(number.map_or(0, |number| number.saturating_add(1)), Ordering::Release);
    }
}

impl StoreLink {
    /// Starts the thread, or with a watcher none. `note` is what the store holds.
    pub fn start(
        store: Store,
        settings: &StoreSettings,
        note: &Note,
        beside: Beside,
    ) -> Result<Self, StoreError> {
        let confirmed = Arc::new(Confirmed::default());
        confirmed.set(store.head()?.map(|head| head.number));
        let backlog = Arc::new(Backlog::new(settings.backlog));
        let worker =
            Worker { store: store.clone(), backlog: backlog.clone(), confirmed: confirmed.clone(), beside };
        let hand = if worker.beside.watcher.is_some() {
            Hand::Owner(worker)
        } else {
            let started = std::thread::Builder::new().name("foreseal-store".to_owned());
            let started = started.spawn(move || while worker.turn() {});
            Hand::Thread(Some(started.map_err(|error| StoreError::Lmdb(error.to_string()))?))
        };
        let marks = Marks::new(note.marks.clone(), settings.retention);
        Ok(Self { store, backlog, confirmed, marks, hand })
    }

    /// The store as a history of its present generation.
    pub fn history(&self) -> Result<Arc<dyn History>, StoreError> {
        Ok(Arc::new(StoredHistory::new(self.store.reader()?, self.confirmed.clone())))
    }

    /// Hands over what `chain` has for the store since the last call; the journal's append `sequence` holds it. Waits
    /// while the store is far behind, and until blocks are taken back if the chain went back: what it shows from then on
    /// is read from the generation after.
    pub fn follow(&mut self, chain: &mut Chain, sequence: u64) -> Result<(), StoreFailed> {
        let mut unwound = false;
        for outgoing in chain.take_outgoing() {
            match outgoing {
                Outgoing::Sealed { block, changed, beside } => {
                    self.marks.add(block.number(), sequence);
                    let note = Note { beside, marks: self.marks.list() }.encode();
                    self.add(StoreJob::Write(Box::new(Write { block, changed, sequence, note })))?;
                }
                Outgoing::Unwound { to, beside } => {
                    self.marks.unwind(to);
                    let note = Note { beside, marks: self.marks.list() }.encode();
                    self.add(StoreJob::Unwind { to, sequence, note })?;
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

    fn add(&self, job: StoreJob) -> Result<(), StoreFailed> {
        while self.backlog.has_no_room() && self.write() {}
        self.backlog.add(job)
    }

    /// Writes some of what is to be written, if that is for the owner to do; whether it was, and there was something.
    pub fn write(&self) -> bool {
        match &self.hand {
            Hand::Owner(worker) => self.backlog.has_jobs() && worker.turn(),
            Hand::Thread(_) => false,
        }
    }

    /// Removes the journal's segments that neither store nor retention needs. One that cannot be removed stays.
    pub fn trim(&mut self, journal: &mut Journal) {
        let given = mutant!("trim-before-store").then(|| self.marks.newest()).flatten();
        let stored = given.or_else(|| self.confirmed.get());
        let Some(sequence) = stored.and_then(|stored| self.marks.passed(stored)) else { return };
        match journal.remove_segments_before(sequence) {
            Ok(0) => {}
            Ok(removed) => tracing::debug!(removed, sequence, "journal segments removed"),
            Err(error) => tracing::warn!(%error, sequence, "journal segments cannot be removed"),
        }
    }

    /// `Err` once the store could not be written, or is found damaged.
    pub fn check(&self) -> Result<(), StoreFailed> {
        match self.store.damage() {
            Some(damage) => Err(StoreFailed(damage.to_string())),
            None => self.backlog.check(),
        }
    }

    /// How much the builder should take, in thousandths.
    pub fn share(&self) -> u32 {
        self.backlog.share()
    }

    /// Waits until the store has everything.
    pub fn drain(&self) -> Result<(), StoreFailed> {
        while self.write() {}
        self.backlog.drained()
    }

    /// What tells how far the store is.
    pub fn gauge(&self) -> StoreGauge {
        StoreGauge {
            store: self.store.clone(),
            backlog: self.backlog.clone(),
            confirmed: self.confirmed.clone(),
        }
    }
}

impl Drop for StoreLink {
    fn drop(&mut self) {
        self.backlog.abandon();
        if let Hand::Thread(thread) = &mut self.hand
            && let Some(thread) = thread.take()
        {
            // The thread catches its own panics, so joining cannot fail.
            let _ = thread.join();
        }
    }
}

/// Where the store is, for the status.
#[derive(Clone, Debug)]
pub(crate) struct StoreGauge {
    store: Store,
    backlog: Arc<Backlog<StoreJob>>,
    confirmed: Arc<Confirmed>,
}

impl StoreGauge {
    /// Why the store is not written any more, or must not be built upon.
    fn failure(&self) -> Option<String> {
        let damage = self.store.damage().map(ToString::to_string);
        damage.or_else(|| self.backlog.check().err().map(|failed| failed.to_string()))
    }

    pub fn status(&self) -> StoreStatus {
        StoreStatus {
            head: self.confirmed.get(),
            backlog: self.backlog.weight(),
            share: self.backlog.share(),
            failure: self.failure(),
            bytes: self.store.size().used,
            scrub: ScrubStatus::default(),
        }
    }
}

/// What writes.
struct Worker {
    store: Store,
    backlog: Arc<Backlog<StoreJob>>,
    confirmed: Arc<Confirmed>,
    beside: Beside,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Worker {
    /// Does what is there to do, or waits for something; whether there is more to come.
    fn turn(&self) -> bool {
        let jobs = self.backlog.take(BATCH_BLOCKS, BATCH_TRANSACTIONS);
        if jobs.is_empty() {
            return false;
        }
        let weight = jobs.iter().map(Job::weight).sum();
        let done = catch_unwind(AssertUnwindSafe(|| self.work(jobs)));
        let done = done.unwrap_or_else(|_| Err("internal error in the store's thread".to_owned()));
        if let Err(why) = done {
            tracing::error!(why, "the store cannot be written");
            self.backlog.fail(why);
            return false;
        }
        self.backlog.finish(weight);
        true
    }

    fn reached(&self, point: Point) {
        if let Some(watcher) = &self.beside.watcher {
            watcher.reached(point);
        }
    }

    /// Writes in one transaction, which is measured.
    fn commit(&self, write: impl FnOnce(&Store) -> Result<(), StoreError>) -> Result<(), String> {
        self.reached(Point::BeforeStoreCommit);
        match &self.beside.meter {
            Some((clock, figures)) => {
                let mut laps = Laps::begin(&**clock);
                write(&self.store).map_err(|error| error.to_string())?;
                figures.commit.add(laps.lap());
            }
            None => write(&self.store).map_err(|error| error.to_string())?,
        }
        self.reached(Point::StoreCommitted);
        Ok(())
    }

    fn work(&self, jobs: Vec<StoreJob>) -> Result<(), String> {
        // Pages that a reader saw whose process is gone can be used again then.
        self.store.clear_stale_readers().map_err(|error| error.to_string())?;
        let mut writes = Vec::new();
        for job in jobs {
            match job {
                StoreJob::Write(write) => writes.push(write.prepare().map_err(|error| error.to_string())?),
                StoreJob::Unwind { to, sequence, note } => {
                    self.commit(|store| store.unwind(to, sequence, &note))?;
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
