//! The scrub of a running node: it reads every page of the store repeatedly at a low rate, so that damage is
//! found early.
//!
//! It pauses while the store or the steps are late. Damage that it finds stops production, like damage found
//! by a read.
//!
//! Only one process at a time scrubs a store, which a lock on the store's directory ensures. That process is
//! the sequencer. A worker scrubs only if no sequencer does, because its store is a copy or the sequencer
//! is down.

use std::{
    collections::BTreeSet,
    fs::{File, TryLockError},
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Duration,
};

use foreseal_replication::Phase;
use foreseal_scheduler::lower_priority;
use foreseal_store::{ScrubPosition, Store, StoreError};

use crate::{
    settings::ScrubSettings,
    shared::{health::ScrubProgress, shared_state::SharedState},
};

/// Size of a portion, which is read in one read transaction, in bytes.
const PORTION_SIZE: u64 = 256 << 10;
/// Time until a scrub that yielded to other work is retried.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Time until a portion that could not be read is retried.
const ERROR_INTERVAL: Duration = Duration::from_secs(30);
/// Lowest scheduling priority of a thread.
#[cfg(target_os = "linux")]
const NICE: i32 = 19;

/// Role of the process that scrubs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScrubOwner {
    /// Holds the lock from its first portion on.
    Sequencer,
    /// Holds the lock for one portion at a time, so that a sequencer can acquire it.
    Worker,
}

/// Background reader of the store, portion by portion.
pub(crate) struct Scrubber {
    store: Store,
    shared: Arc<SharedState>,
    settings: ScrubSettings,
    owner: ScrubOwner,
    /// The store's directory, opened and locked.
    lock: Option<File>,
    position: ScrubPosition,
    damaged: BTreeSet<u64>,
    /// Number of pages without a checksum in this pass.
    unchecked: u64,
    progress: ScrubProgress,
}

impl Scrubber {
    pub fn new(store: Store, shared: Arc<SharedState>, settings: ScrubSettings, owner: ScrubOwner) -> Self {
        let progress = shared.health.scrub_progress().clone();
        let (position, damaged) = (ScrubPosition::default(), BTreeSet::new());
        Self { store, shared, settings, owner, lock: None, position, damaged, unchecked: 0, progress }
    }

    /// Starts the thread, which ends when the node stops; `None` if the settings disable the scrub.
    pub fn start(mut self) -> Result<Option<JoinHandle<()>>, StoreError> {
        if self.settings.rate == 0 {
            return Ok(None);
        }
        let run = move || {
            lower_priority(NICE);
            while !self.shared.stop.is_stopping() {
                let wait = self.step();
                self.shared.stop.sleep(wait);
            }
        };
        let started = Builder::new().name("foreseal-scrub".to_owned()).spawn(run);
        started.map(Some).map_err(|error| StoreError::Lmdb(error.to_string()))
    }

    /// Reads one portion. Returns the time until the next one.
    fn step(&mut self) -> Duration {
        if self.must_yield() {
            return RETRY_INTERVAL;
        }
        self.lock = self.lock.take().or_else(|| self.acquire());
        self.shared.health.set_scrubs(self.lock.is_some());
        if self.lock.is_none() {
            return RETRY_INTERVAL;
        }
        let wait = self.read_portion();
        if self.owner == ScrubOwner::Worker
            && let Some(folder) = self.lock.take()
        {
            // If unlocking fails, closing the directory releases the lock.
            let _ = folder.unlock();
        }
        wait
    }

    /// Locks the store's directory; `None` while another process scrubs it.
    fn acquire(&self) -> Option<File> {
        let folder = File::open(self.store.path()).ok()?;
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            // On a file system without locks, two processes that scrub are better than none.
            Err(TryLockError::Error(_)) | Ok(()) => Some(folder),
        }
    }

    fn read_portion(&mut self) -> Duration {
        let scrubbed = match self.store.scrub(&mut self.position, PORTION_SIZE) {
            Ok(scrubbed) => scrubbed,
            Err(error) => {
                // The store records damage itself; any other error may be temporary.
                tracing::warn!(%error, "scrub cannot read the store");
                self.progress.lock().errors += 1;
                return ERROR_INTERVAL;
            }
        };
        for fault in &scrubbed.faults {
            if self.damaged.insert(fault.page) {
                tracing::error!(error = %fault.error(), offset = fault.offset, "scrub found a damaged page");
            }
        }
        self.unchecked += scrubbed.unchecked;
        let mut progress = self.progress.lock();
        progress.bytes += scrubbed.bytes;
        progress.total += scrubbed.bytes;
        progress.damaged = self.damaged.len() as u64;
        if !scrubbed.complete {
            let micros = scrubbed.bytes.saturating_mul(1_000_000) / self.settings.rate.max(1);
            return Duration::from_micros(micros);
        }
        let bytes = std::mem::take(&mut progress.bytes);
        progress.passes += 1;
        progress.unchecked = std::mem::take(&mut self.unchecked);
        if progress.unchecked > 0 {
            tracing::error!(
                pages = progress.unchecked,
                "pages of the store have no checksum: run `foreseal db repair`"
            );
        }
        progress.last = Some(self.shared.clock.now().unix.as_secs());
        tracing::info!(bytes, damaged = progress.damaged, "scrub completed");
        self.settings.pause
    }

    /// Returns `true` while the node starts, the store is behind, or steps are late.
    fn must_yield(&self) -> bool {
        if self.owner == ScrubOwner::Worker {
            return matches!(self.shared.health.phase(), Phase::Replaying { .. });
        }
        let behind = self.shared.health.store_status().is_none_or(|store| store.share < 1_000);
        behind
            || (self.shared.health.phase() == Phase::Producing
                && self.shared.publication.age() > RETRY_INTERVAL * 2)
    }
}
