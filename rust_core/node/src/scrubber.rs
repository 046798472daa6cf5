//! The scrub of a running node: every page of the store is read again and again, slowly, so that damage is found before it is
//! needed.
//!
//! It waits while the store or the steps are late, and what it finds stops production as a read that finds it does.
//!
//! One process at a time reads a store: the sequencer, and a follower only where no sequencer does, because its store is a copy
//! or the sequencer is away. A lock on the store's folder decides.

use std::{
    collections::BTreeSet,
    fs::{File, TryLockError},
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Duration,
};

use foreseal_store::{ScrubPosition, Store, StoreError};
use parking_lot::Mutex;

use crate::{Phase, shared::Shared};

/// Bytes that are read in one read transaction.
const PORTION_SIZE: u64 = 256 << 10;
/// Time until a scrub that gave way to other work is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Time until a portion that could not be read is tried again.
const ERROR_INTERVAL: Duration = Duration::from_secs(30);
/// Lowest priority of a thread.
#[cfg(target_os = "linux")]
const NICE: i32 = 19;

/// How fast the store is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubSettings {
    /// Bytes a second; 0 for no scrub.
    pub rate: u64,
    /// Time between the end of a pass and the next one.
    pub pause: Duration,
}

impl Default for ScrubSettings {
    fn default() -> Self {
        Self { rate: 8 << 20, pause: Duration::from_hours(24) }
    }
}

/// How far the scrub is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubStatus {
    /// Bytes that the present pass has read; 0 between passes.
    pub bytes: u64,
    /// Bytes that all passes have read.
    pub total: u64,
    /// Complete passes.
    pub passes: u64,
    /// Damaged pages that were found.
    pub damaged: u64,
    /// Pages without a checksum that the newest complete pass found; an upgraded store has none.
    pub unchecked: u64,
    /// Portions that could not be read and were tried again.
    pub errors: u64,
    /// Seconds since 1970 at the end of the last complete pass.
    pub last: Option<u64>,
}

/// The scrub's progress, for status and metrics.
pub(crate) type Progress = Arc<Mutex<ScrubStatus>>;

/// The process that scrubs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScrubOwner {
    /// Holds the lock from its first portion on.
    Sequencer,
    /// Holds the lock for one portion at a time, so that a sequencer gets it.
    Follower,
}

/// Reads the store in portions.
pub(crate) struct Scrubber {
    store: Store,
    shared: Arc<Shared>,
    settings: ScrubSettings,
    owner: ScrubOwner,
    /// The store's folder, with the lock on it.
    lock: Option<File>,
    position: ScrubPosition,
    damaged: BTreeSet<u64>,
    /// Pages without a checksum in this pass.
    unchecked: u64,
    progress: Progress,
}

impl Scrubber {
    pub fn new(store: Store, shared: Arc<Shared>, settings: ScrubSettings, owner: ScrubOwner) -> Self {
        let progress = shared.scrub_progress().clone();
        let (position, damaged) = (ScrubPosition::default(), BTreeSet::new());
        Self { store, shared, settings, owner, lock: None, position, damaged, unchecked: 0, progress }
    }

    /// Starts the thread, which ends when the node stops; `None` if the settings have no scrub.
    pub fn start(mut self) -> Result<Option<JoinHandle<()>>, StoreError> {
        if self.settings.rate == 0 {
            return Ok(None);
        }
        let run = move || {
            lower_priority();
            while !self.shared.stopping() {
                let wait = self.step();
                self.shared.sleep(wait);
            }
        };
        let started = Builder::new().name("foreseal-scrub".to_owned()).spawn(run);
        started.map(Some).map_err(|error| StoreError::Lmdb(error.to_string()))
    }

    /// Reads one portion. Returns the time until the next one.
    fn step(&mut self) -> Duration {
        if self.gives_way() {
            return RETRY_INTERVAL;
        }
        self.lock = self.lock.take().or_else(|| self.acquire());
        self.shared.set_scrubs(self.lock.is_some());
        if self.lock.is_none() {
            return RETRY_INTERVAL;
        }
        let wait = self.read_portion();
        if self.owner == ScrubOwner::Follower
            && let Some(folder) = self.lock.take()
        {
            // What cannot be unlocked is closed.
            let _ = folder.unlock();
        }
        wait
    }

    /// Locks the store's folder; `None` while another process scrubs it.
    fn acquire(&self) -> Option<File> {
        let folder = File::open(self.store.path()).ok()?;
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            // Without locks it is better to read twice than not at all.
            Err(TryLockError::Error(_)) | Ok(()) => Some(folder),
        }
    }

    fn read_portion(&mut self) -> Duration {
        let scrubbed = match self.store.scrub(&mut self.position, PORTION_SIZE) {
            Ok(scrubbed) => scrubbed,
            Err(error) => {
                // Damage is noted by the store; anything else may pass.
                tracing::warn!(%error, "the scrub cannot read the store");
                self.progress.lock().errors += 1;
                return ERROR_INTERVAL;
            }
        };
        for fault in &scrubbed.faults {
            if self.damaged.insert(fault.page) {
                tracing::error!(error = %fault.error(), offset = fault.offset, "the scrub found a damaged page");
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
        tracing::info!(bytes, damaged = progress.damaged, "the scrub has read the whole store");
        self.settings.pause
    }

    /// Returns `true` while the node starts, the store is behind, or steps are late.
    fn gives_way(&self) -> bool {
        if self.owner == ScrubOwner::Follower {
            return matches!(self.shared.phase(), Phase::Replaying { .. });
        }
        let behind = self.shared.store_status().is_none_or(|store| store.share < 1_000);
        behind || (self.shared.phase() == Phase::Producing && self.shared.age() > RETRY_INTERVAL * 2)
    }
}

/// Gives the calling thread the lowest priority. Only Linux has one for each thread.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: it changes the priority of this thread and nothing else.
        let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
        if done != 0 {
            tracing::debug!("the scrub runs at the priority of other threads");
        }
    }
}
