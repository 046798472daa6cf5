//! Repair of a damaged store.
//!
//! ```text
//!   survey -> plan (shown) -> the repaired store beside the damaged one -> swap -> replay of the journal
//! ```
//!
//! The damaged store stays as `store.damaged`. Where the replay fails it gets its place back.

use std::{
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use foreseal_journal::{EndMark, OfflineError, RealDisk, Report, check, journal_folder, recorded_end};
use foreseal_store::{Fault, MetaFault, Options, Store, StoreError, Verifying};
use foreseal_types::ChainSpec;

use crate::{
    BackupError, Copied, Manifest, NodeError, Settings, StoreSettings,
    backup::restore,
    datadir::{DataDir, stored_spec},
    start::{genesis_hash, start},
    store_link::Beside,
    store_swap::StoreFolders,
};

const STORE: &str = "store";
const DATA: &str = "data.mdb";
const RESTORED: &str = "store.restored";

const UNKNOWN_PROGRESS: &str = "the newest block of the damaged store cannot be read: if the journal has lost its end, only a \
                                follower or a client with signed steps can prove it";

/// Why a store cannot be repaired.
#[derive(Debug, thiserror::Error)]
pub enum StoreRepairError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Journal(#[from] OfflineError),
    #[error("{} is left of an earlier repair: remove it first", .0.display())]
    Unfinished(PathBuf),
    #[error("the store cannot be repaired: {0}")]
    Impossible(&'static str),
}

impl From<StoreError> for StoreRepairError {
    fn from(error: StoreError) -> Self {
        Self::Node(error.into())
    }
}

/// How a store is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairMethod {
    /// Nothing is damaged.
    Nothing,
    /// What is sound is copied, and the rest made again from it.
    Rewrite,
    /// One of the two meta pages is damaged: the sound one replaces it in a copy of the store, and the journal is replayed from
    /// there.
    MetaPage,
    /// The store of the backup takes its place, and the journal is replayed from there.
    Backup,
    /// The whole journal is replayed.
    Replay,
    /// Nothing at hand has what is lost.
    Impossible(&'static str),
}

/// What is damaged, and what a repair does about it.
#[derive(Clone, Debug)]
pub struct RepairPlan {
    pub faults: Vec<Fault>,
    /// How many there are.
    pub fault_count: u64,
    pub method: RepairMethod,
    /// What the damaged store can no longer prove.
    pub warning: Option<&'static str>,
}

/// How far a repair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repairing {
    Verifying(Verifying),
    /// Entries or blocks.
    Rewriting {
        done: u64,
        of: u64,
    },
    Restoring(Copied),
    /// Records of the journal so far.
    Replaying {
        records: u64,
    },
}

/// Hears how far a repair is, and may end it.
pub type Watch<'a> = &'a mut dyn FnMut(Repairing) -> ControlFlow<()>;

/// A data directory, on which no node runs, and what its store is repaired from.
pub struct StoreRepair<'p> {
    datadir: &'p Path,
    settings: StoreSettings,
    backup: Option<&'p Path>,
    spec: Arc<ChainSpec>,
    lock: DataDir,
    folders: StoreFolders,
}

impl<'p> StoreRepair<'p> {
    /// Locks the data directory. Where an earlier repair was killed between the damaged store and the repaired one, the damaged
    /// one gets its place back.
    pub fn lock(
        datadir: &'p Path,
        settings: &StoreSettings,
        backup: Option<&'p Path>,
    ) -> Result<Self, StoreRepairError> {
        settings.check().map_err(NodeError::from)?;
        let missing = || NodeError::NoGenesis { datadir: datadir.to_owned() };
        let spec = Arc::new(stored_spec(datadir)?.ok_or_else(missing)?);
        let lock = DataDir::lock(datadir)?;
        let folders = StoreFolders::new(datadir);
        let repair = Self { datadir, settings: *settings, backup, spec, lock, folders };
        if repair.folders.damaged.exists() && repair.has_no_block() {
            repair.folders.undo()?;
            tracing::warn!("an earlier repair was killed: the damaged store has its place back");
        }
        for path in [repair.folders.damaged.clone(), datadir.join(RESTORED)] {
            if path.exists() {
                return Err(StoreRepairError::Unfinished(path));
            }
        }
        Ok(repair)
    }

    /// Returns `true` if there is no store, or one without blocks, as a start makes it.
    fn has_no_block(&self) -> bool {
        match self.open().and_then(|store| store.head()) {
            Ok(head) => head.is_none_or(|head| head.number == 0),
            Err(error) => matches!(error, StoreError::Absent { .. }),
        }
    }

    fn open(&self) -> Result<Store, StoreError> {
        let options = Options {
            map_size: self.settings.map_size,
            read_only: true,
            ..Options::new(self.spec.chain_id(), genesis_hash(&self.spec))
        };
        Store::open(self.datadir.join(STORE), options)
    }

    /// Verifies the store, and chooses what to do. Changes nothing.
    pub fn plan(&self, watch: Watch<'_>) -> Result<RepairPlan, StoreRepairError> {
        let survey = self.survey(watch);
        if survey.is_err()
            && let Some(fault) = self.meta_fault()?
        {
            let faults = vec![Fault { table: "", key: Vec::new(), why: fault.to_string() }];
            return Ok(RepairPlan { faults, fault_count: 1, method: RepairMethod::MetaPage, warning: None });
        }
        let (faults, fault_count, derived) = match survey {
            Ok(found) => found,
            // What cannot be opened has a fault of its own.
            Err(error) if error.is_damage() || is_lost(&error) => {
                let why = error.to_string();
                (vec![Fault { table: "", key: Vec::new(), why }], 1, false)
            }
            Err(error) => return Err(error.into()),
        };
        let (method, warning) = if fault_count == 0 {
            (RepairMethod::Nothing, None)
        } else if derived {
            (RepairMethod::Rewrite, None)
        } else {
            let stored = self.stored();
            (self.replacement(stored)?, stored.is_none().then_some(UNKNOWN_PROGRESS))
        };
        Ok(RepairPlan { faults, fault_count, method, warning })
    }

    /// The faults, how many there are, and whether what is damaged follows from the rest.
    fn survey(&self, watch: Watch<'_>) -> Result<(Vec<Fault>, u64, bool), StoreError> {
        let store = self.open()?;
        let survey = store.survey()?;
        let verified = store.verify(&mut |step| watch(Repairing::Verifying(step)))?;
        let derived = survey.is_derived() && verified.faults.iter().all(|fault| survey.follows(fault.table));
        Ok((verified.faults, verified.fault_count, derived))
    }

    /// Sequence number after the newest append that the damaged store has; `None` if that cannot be read.
    fn stored(&self) -> Option<u64> {
        let progress = self.open().and_then(|store| store.progress()).ok()?;
        let sealed = progress.head.is_some_and(|head| head.number > 0);
        Some(if sealed { progress.journal_sequence.saturating_add(1) } else { 0 })
    }

    /// What has the store's blocks beside the store. The damaged store has applied the appends before `stored`: a new one
    /// would not remember that they existed.
    fn replacement(&self, stored: Option<u64>) -> Result<RepairMethod, StoreRepairError> {
        let folder = journal_folder(self.datadir)?;
        let Report { first_sequence, appends, fault, missing, .. } =
            check(&folder, Arc::new(RealDisk)).map_err(NodeError::from)?;
        if fault.is_some() {
            return Ok(RepairMethod::Impossible(
                "the journal is damaged as well: see `foreseal journal check`, and restore a backup into a new folder",
            ));
        }
        let next = first_sequence.saturating_add(appends);
        let accepted = || recorded_end(&folder, &RealDisk).is_ok_and(|end| accepts(end.as_ref(), next));
        if missing.is_some() || (stored.is_some_and(|stored| stored > next) && !accepted()) {
            return Ok(RepairMethod::Impossible(
                "the journal has lost what was visible: bring back the journal, or run `foreseal journal repair` first",
            ));
        }
        if let Some(backup) = self.backup {
            let manifest = Manifest::read(backup)?;
            let (chain_id, genesis) = (self.spec.chain_id(), genesis_hash(&self.spec));
            return Ok(if (manifest.chain_id, manifest.genesis) != (chain_id, genesis) {
                RepairMethod::Impossible("the backup is of another chain")
            } else if manifest.journal_sequence < first_sequence {
                RepairMethod::Impossible("the journal begins after the block with which the backup ends")
            } else {
                RepairMethod::Backup
            });
        }
        Ok(if first_sequence == 0 {
            RepairMethod::Replay
        } else {
            RepairMethod::Impossible(
                "the journal begins after block 1: name a backup with --backup, or restore one into a new folder",
            )
        })
    }

    /// Does what was planned.
    ///
    /// # Errors
    /// Then the damaged store is where it was.
    pub fn apply(&self, method: RepairMethod, watch: Watch<'_>) -> Result<(), StoreRepairError> {
        let repaired = &self.folders.repaired;
        if repaired.exists() {
            fs::remove_dir_all(repaired).map_err(io_error("remove", repaired))?;
        }
        match method {
            RepairMethod::Nothing => return Ok(()),
            RepairMethod::Impossible(why) => return Err(StoreRepairError::Impossible(why)),
            RepairMethod::Rewrite => {
                let mut report = |step: foreseal_store::Rewriting| {
                    watch(Repairing::Rewriting { done: step.done, of: step.of })
                };
                drop(self.open()?.rewrite(repaired, &mut report)?);
            }
            RepairMethod::MetaPage => self.copy_with_meta_page(repaired)?,
            RepairMethod::Backup => self.restore(repaired, watch)?,
            RepairMethod::Replay => {}
        }
        self.folders.swap()?;
        let replayed = self.replay(watch);
        if replayed.is_err() {
            self.folders.undo()?;
        }
        replayed
    }

    /// The damaged one of two meta pages, where the other one is sound.
    fn meta_fault(&self) -> Result<Option<MetaFault>, StoreError> {
        let there = self.folders.store.join(DATA).exists();
        if there { MetaFault::find(&self.folders.store) } else { Ok(None) }
    }

    /// Copies the store, and in the copy the sound meta page over the damaged one.
    fn copy_with_meta_page(&self, repaired: &Path) -> Result<(), StoreRepairError> {
        let Some(fault) = self.meta_fault()? else {
            return Err(StoreRepairError::Impossible("no meta page is damaged any more"));
        };
        fs::create_dir(repaired).map_err(io_error("create", repaired))?;
        let (from, to) = (self.folders.store.join(DATA), repaired.join(DATA));
        fs::copy(&from, &to).map_err(io_error("copy", &from))?;
        Ok(fault.repair(repaired)?)
    }

    /// Makes the store of the backup ready.
    fn restore(&self, repaired: &Path, watch: Watch<'_>) -> Result<(), StoreRepairError> {
        let Some(backup) = self.backup else {
            return Err(StoreRepairError::Impossible("no backup is named"));
        };
        let whole = self.datadir.join(RESTORED);
        let restored = restore(backup, &whole, self.settings.map_size, &mut |copied| {
            watch(Repairing::Restoring(copied))
        });
        let store = whole.join(STORE);
        let moved = match restored {
            Ok(_) => fs::rename(&store, repaired).map_err(|e| io_error("rename", &store)(e).into()),
            Err(error) => Err(StoreRepairError::from(error)),
        };
        // What is left of the backup is its journal: the data directory has its own.
        if whole.exists() {
            fs::remove_dir_all(&whole).map_err(io_error("remove", &whole))?;
        }
        moved
    }

    /// Replays what the journal has beyond the store, and waits until it is stored.
    fn replay(&self, watch: Watch<'_>) -> Result<(), StoreRepairError> {
        let store = self.lock.open_store(&self.spec, &self.settings)?;
        // Nothing of the journal is removed: should the replay fail, the next repair needs all of it.
        let store_settings = StoreSettings { retention: u64::MAX, ..self.settings };
        let settings = Settings { store: store_settings, ..Settings::new(self.datadir.to_owned()) };
        let files = (store, Arc::new(RealDisk) as _, Beside::default());
        let mut broken = false;
        let mut report = |records| broken |= watch(Repairing::Replaying { records }).is_break();
        let started = start(&self.lock, self.spec.clone(), &settings, files, &mut report)?;
        started.link.drain().map_err(NodeError::from)?;
        if broken { Err(StoreError::Interrupted.into()) } else { Ok(()) }
    }
}

/// Returns `true` if a repair of the journal has accepted that it ends before append `next`.
fn accepts(end: Option<&EndMark>, next: u64) -> bool {
    end.is_some_and(|end| end.accepts_end(next))
}

/// Returns `true` if there is no store that could be opened.
fn is_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::Absent { .. } | StoreError::NotAStore { .. } | StoreError::Truncated { .. })
}

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> NodeError {
    let path = path.to_owned();
    move |error| NodeError::io(what, &path, &error)
}
