//! Repair of a damaged store.
//!
//! ```text
//!   survey -> plan (shown) -> the repaired store next to the damaged one -> swap -> replay of the journal
//! ```
//!
//! The damaged store is retained as `store.damaged`. If the replay fails, the damaged store is moved back.

use std::{fs, io, path::Path, sync::Arc};

use alloy_primitives::B256;
use foreseal_chain::datadir::{DataDir, DataDirError, STORE, StoreBackup, genesis_hash, stored_spec};
use foreseal_journal::{Identity, RealDisk, journal_folder};
use foreseal_primitives::ChainSpec;
use foreseal_store::{Fault, MetaFault, Store, StoreError, StoreOptions};

use crate::{
    errors::node_error::NodeError,
    repair::store_swap::StoreFolders,
    repair::{
        errors::StoreRepairError,
        journal::RepairJournal,
        plan::{FetchPlan, ProgressCallback, RepairMethod, RepairPlan, RepairProgress},
        rebuild::{Rebuild, plan_rebuild},
        source::BlockSource,
    },
    settings::{Settings, StoreSettings},
    store::{start::start, store_files::open_store, store_writer::StoreObservers},
};

const DATA: &str = "data.mdb";
const RESTORED: &str = "store.restored";

const UNKNOWN_PROGRESS: &str = "the newest block of the damaged store cannot be read: if the journal has lost its end, only a \
                                follower or a client with signed steps can prove it";

/// Sources of lost blocks, in addition to the journal.
#[derive(Default)]
pub struct RepairSources<'p> {
    /// Backup of the same chain.
    pub backup: Option<&'p dyn StoreBackup>,
    /// Another node of the same chain.
    pub node: Option<&'p mut dyn BlockSource>,
}

/// A data directory on which no node runs, and the sources from which its store is repaired.
pub struct StoreRepair<'p> {
    datadir: &'p Path,
    settings: StoreSettings,
    sources: RepairSources<'p>,
    spec: Arc<ChainSpec>,
    genesis: B256,
    lock: DataDir,
    folders: StoreFolders,
}

impl<'p> StoreRepair<'p> {
    /// Locks the data directory. If an earlier repair was killed between moving the damaged store away and
    /// the repaired one in, the damaged store is moved back.
    pub fn lock(
        datadir: &'p Path,
        settings: &StoreSettings,
        sources: RepairSources<'p>,
    ) -> Result<Self, StoreRepairError> {
        settings.check().map_err(NodeError::from)?;
        let missing = || DataDirError::NoGenesis { datadir: datadir.to_owned() };
        let spec = Arc::new(stored_spec(datadir)?.ok_or_else(missing)?);
        let genesis = genesis_hash(&spec);
        let lock = DataDir::lock(datadir)?;
        let folders = StoreFolders::new(datadir);
        let repair = Self { datadir, settings: *settings, sources, spec, genesis, lock, folders };
        if repair.folders.damaged.exists() && repair.has_no_block() {
            repair.folders.undo()?;
            tracing::warn!("an earlier repair was interrupted: moved the damaged store back");
        }
        for path in [repair.folders.damaged.clone(), datadir.join(RESTORED)] {
            if path.exists() {
                return Err(StoreRepairError::Unfinished(path));
            }
        }
        Ok(repair)
    }

    /// Returns `true` if there is no store, or one without blocks, as a start creates it.
    fn has_no_block(&self) -> bool {
        match self.open().and_then(|store| store.head()) {
            Ok(head) => head.is_none_or(|head| head.number == 0),
            Err(error) => matches!(error, StoreError::Absent { .. }),
        }
    }

    fn open(&self) -> Result<Store, StoreError> {
        let options = StoreOptions {
            map_size: self.settings.map_size,
            read_only: true,
            withdrawals_in_state: self.spec.optimism().is_some(),
            ..StoreOptions::new(self.spec.chain_id(), self.genesis)
        };
        Store::open(self.datadir.join(STORE), options)
    }

    /// Verifies the store and chooses a method. Changes nothing.
    pub fn plan(&mut self, watch: ProgressCallback<'_>) -> Result<RepairPlan, StoreRepairError> {
        let survey = self.survey(watch);
        if survey.is_err()
            && let Some(fault) = self.meta_fault()?
        {
            let faults = vec![Fault { table: "", key: Vec::new(), why: fault.to_string() }];
            return Ok(RepairPlan { faults, fault_count: 1, method: RepairMethod::MetaPage, warning: None });
        }
        let (faults, fault_count, derived) = match survey {
            Ok(surveyed) => surveyed,
            // A store that cannot be opened counts as one fault.
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
            let is_readable = self.open().and_then(|store| store.progress()).is_ok();
            (self.replacement()?, (!is_readable).then_some(UNKNOWN_PROGRESS))
        };
        Ok(RepairPlan { faults, fault_count, method, warning })
    }

    /// Returns the faults, their total number, and `true` if all damaged data can be derived from the rest.
    fn survey(&self, watch: ProgressCallback<'_>) -> Result<(Vec<Fault>, u64, bool), StoreError> {
        let store = self.open()?;
        let survey = store.survey()?;
        let verified = store.verify(&mut |step| watch(RepairProgress::Verifying(step)))?;
        let derived = survey.is_derived() && verified.faults.iter().all(|fault| survey.follows(fault.table));
        Ok((verified.faults, verified.fault_count, derived))
    }

    /// Chooses the source of the store's blocks.
    fn replacement(&mut self) -> Result<RepairMethod, StoreRepairError> {
        let journal = self.read_journal()?;
        if let Some(why) = journal.loss(self.open().ok().as_ref())? {
            return Ok(RepairMethod::Impossible(why));
        }
        let first = journal.first_sequence();
        let backup = self.sources.backup.map(StoreBackup::end).transpose()?;
        if let Some(backup) = &backup {
            if (backup.chain_id, backup.genesis) != (self.spec.chain_id(), self.genesis) {
                return Ok(impossible("the backup of --backup is of another chain"));
            }
            if backup.journal_sequence >= first {
                return Ok(RepairMethod::Backup);
            }
        } else if first == 0 {
            return Ok(RepairMethod::Replay);
        }
        let sealed = journal.sealed()?;
        let why = match &mut self.sources.node {
            Some(node) => {
                return Ok(plan_rebuild(&self.spec, self.genesis, &sealed, backup, &mut **node)?);
            }
            None if backup.is_some() => {
                "the journal begins after the last block of the backup: also pass a node with --from, which has the blocks between them"
            }
            None => {
                "the journal begins after block 1: pass a backup with --backup or another node with --from, or restore a backup into a new folder"
            }
        };
        Ok(impossible(why))
    }

    fn read_journal(&self) -> Result<RepairJournal, StoreRepairError> {
        let identity = Identity { chain_id: self.spec.chain_id(), genesis: self.genesis };
        RepairJournal::read(journal_folder(self.datadir)?, identity)
    }

    /// Applies a planned repair.
    ///
    /// # Errors
    /// After an error the damaged store is back in its place.
    pub fn apply(
        &mut self,
        method: &RepairMethod,
        watch: ProgressCallback<'_>,
    ) -> Result<(), StoreRepairError> {
        if *method == RepairMethod::Nothing {
            return Ok(());
        }
        let repaired = self.folders.repaired.clone();
        remove_folder(&repaired)?;
        if let Err(error) = self.make(method, &repaired, watch) {
            // If the removal fails, the next repair repeats it.
            let _ = remove_folder(&repaired);
            return Err(error);
        }
        self.folders.swap()?;
        let replayed = self.replay(watch);
        if replayed.is_err() {
            self.folders.undo()?;
        }
        replayed
    }

    /// Returns the damaged one of the two meta pages if the other one is undamaged.
    fn meta_fault(&self) -> Result<Option<MetaFault>, StoreError> {
        let there = self.folders.store.join(DATA).exists();
        if there { MetaFault::find(&self.folders.store) } else { Ok(None) }
    }

    /// Copies the store, and in the copy replaces the damaged meta page by the undamaged one.
    fn copy_with_meta_page(&self, repaired: &Path) -> Result<(), StoreRepairError> {
        let Some(fault) = self.meta_fault()? else {
            return Err(StoreRepairError::Impossible("no meta page is damaged any more".to_owned()));
        };
        fs::create_dir(repaired).map_err(io_error("create", repaired))?;
        let (from, to) = (self.folders.store.join(DATA), repaired.join(DATA));
        fs::copy(&from, &to).map_err(io_error("copy", &from))?;
        Ok(fault.repair(repaired)?)
    }

    /// Makes the store in the folder `repaired`; none is made if the journal has everything.
    fn make(
        &mut self,
        method: &RepairMethod,
        repaired: &Path,
        watch: ProgressCallback<'_>,
    ) -> Result<(), StoreRepairError> {
        match method {
            RepairMethod::Nothing | RepairMethod::Replay => Ok(()),
            RepairMethod::Impossible(why) => Err(StoreRepairError::Impossible(why.clone())),
            RepairMethod::Rewrite => {
                let mut report = |step: foreseal_store::RewriteStatus| {
                    watch(RepairProgress::Rewriting { done: step.done, of: step.of })
                };
                drop(self.open()?.rewrite(repaired, &mut report)?);
                Ok(())
            }
            RepairMethod::MetaPage => self.copy_with_meta_page(repaired),
            RepairMethod::Backup => self.restore(repaired, watch),
            RepairMethod::Fetch(plan) => {
                if plan.backup.is_some() {
                    self.restore(repaired, watch)?;
                }
                self.fetch(plan, repaired, watch)
            }
        }
    }

    /// Adds the blocks of the other node to the store in the folder `repaired`.
    fn fetch(
        &mut self,
        plan: &FetchPlan,
        repaired: &Path,
        watch: ProgressCallback<'_>,
    ) -> Result<(), StoreRepairError> {
        let sealed = self.read_journal()?.sealed()?;
        let (settings, damaged) = (self.node_settings(), self.open().ok());
        let (Some(anchor), Some(node)) = (sealed.first(), &mut self.sources.node) else {
            return Err(StoreRepairError::Impossible("--from is missing".to_owned()));
        };
        let rebuild =
            Rebuild { spec: &self.spec, settings: &settings, folder: repaired, damaged, anchor: *anchor };
        rebuild.run(plan, &mut **node, watch)
    }

    /// Prepares the store of the backup.
    fn restore(&self, repaired: &Path, watch: ProgressCallback<'_>) -> Result<(), StoreRepairError> {
        let Some(backup) = self.sources.backup else {
            return Err(StoreRepairError::Impossible("--backup is missing".to_owned()));
        };
        let whole = self.datadir.join(RESTORED);
        let restored = backup
            .restore(&whole, self.settings.map_size, &mut |copied| watch(RepairProgress::Restoring(copied)));
        let store = whole.join(STORE);
        let moved = match restored {
            Ok(()) => fs::rename(&store, repaired).map_err(|e| io_error("rename", &store)(e).into()),
            Err(error) => Err(StoreRepairError::from(error)),
        };
        // Only the backup's journal is left; the data directory has its own.
        remove_folder(&whole)?;
        moved
    }

    /// Returns settings that remove nothing from the journal: if the replay fails, the next repair needs all
    /// of it.
    fn node_settings(&self) -> Settings {
        let store = StoreSettings { retention: u64::MAX, retention_bytes: u64::MAX, ..self.settings };
        Settings { store, ..Settings::new(self.datadir.to_owned()) }
    }

    /// Replays the journal beyond the store's state, and waits until it is stored.
    fn replay(&self, watch: ProgressCallback<'_>) -> Result<(), StoreRepairError> {
        let store = open_store(&self.lock, &self.spec, &self.settings)?;
        let files = (store, Arc::new(RealDisk) as _, StoreObservers::default());
        let mut broken = false;
        let mut report = |records| broken |= watch(RepairProgress::Replaying { records }).is_break();
        let mut started =
            start(&self.lock, self.spec.clone().into(), &self.node_settings(), files, &mut report)?;
        started.store_writer.drain().map_err(NodeError::from)?;
        started.journal.close()?;
        if broken { Err(StoreError::Interrupted.into()) } else { Ok(()) }
    }
}

fn impossible(why: &str) -> RepairMethod {
    RepairMethod::Impossible(why.to_owned())
}

fn remove_folder(path: &Path) -> Result<(), NodeError> {
    if path.exists() { fs::remove_dir_all(path).map_err(io_error("remove", path)) } else { Ok(()) }
}

/// Returns `true` if no store could be opened at all.
fn is_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::Absent { .. } | StoreError::NotAStore { .. } | StoreError::Truncated { .. })
}

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> NodeError {
    let path = path.to_owned();
    move |error| NodeError::io(what, &path, &error)
}
