//! The data directory: one writer, one chain.

use std::{
    fs::{self, File},
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_genesis::Genesis;
use foreseal_journal::{DirLock, Disk, RealDisk};
use foreseal_primitives::{ChainSpec, parse_genesis};
use foreseal_store::{Store, StoreError, StoreOptions, Upgrading};

use crate::{
    DamagedFile, DataDirError, DirIdentity, NodeError, StoreSettings, checked_file, genesis::genesis_hash,
};
use foreseal_chain::STEP_WINDOW;

const GENESIS: &str = "genesis.json";
const KEY: &str = "sequencer.key";
const STORE: &str = "store";

/// Pool saved by the last run.
pub enum SavedPool {
    /// No earlier run exists.
    None,
    /// The last run did not stop cleanly, or its file is damaged.
    Lost,
    Bytes(Vec<u8>),
}

/// A locked data directory. Holds `LOCK`, `genesis.json`, `identity.json`, `journal/`, `journal.end` and
/// `store/`, and `sequencer.key` if steps are made. Also holds `running`, or `pool.bin` after a clean stop.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: DirLock,
}

impl DataDir {
    /// Creates the directory durably if it is absent, and locks it before reading anything in it.
    ///
    /// # Errors
    /// Returns [`DataDirError::InUse`] if another process holds the lock.
    pub fn lock(path: &Path) -> Result<Self, DataDirError> {
        RealDisk.create_dir(path).map_err(|e| DataDirError::io("create the data directory", path, &e))?;
        let lock = DirLock::acquire(path).map_err(DataDirError::InUse)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Returns the directory of the journal's segments.
    pub fn journal(&self) -> PathBuf {
        journal(&self.path)
    }

    /// Opens the store of this chain, or creates it.
    pub fn open_store(&self, spec: &ChainSpec, settings: &StoreSettings) -> Result<Store, StoreError> {
        self.open_store_reporting(spec, settings, &mut |_| ControlFlow::Continue(()))
    }

    /// Opens the store like [`Self::open_store`]; `report` receives the progress of a schema upgrade.
    pub fn open_store_reporting(
        &self,
        spec: &ChainSpec,
        settings: &StoreSettings,
        report: &mut dyn FnMut(Upgrading) -> ControlFlow<()>,
    ) -> Result<Store, StoreError> {
        Store::open_reporting(self.path.join(STORE), store_options(spec, settings), report)
    }

    /// Opens or creates a store of this chain in `folder`.
    pub fn open_store_in(
        folder: &Path,
        spec: &ChainSpec,
        settings: &StoreSettings,
    ) -> Result<Store, StoreError> {
        Store::open(folder, store_options(spec, settings))
    }

    /// Returns the path of the data directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the data directory's own key.
    pub fn key(&self) -> PathBuf {
        self.path.join(KEY)
    }

    /// Returns the identity of the directory, and `true` if it is recorded. Without a record, which older
    /// versions did not write, the identity is derived from the genesis file.
    pub fn identity(&self, chain_id: u64) -> Result<(DirIdentity, bool), DataDirError> {
        if let Some(identity) = DirIdentity::read(&self.path)? {
            return Ok((identity, true));
        }
        let path = self.path.join(GENESIS);
        let genesis = fs::read(&path).map_err(|error| DataDirError::io("read", &path, &error))?;
        Ok((DirIdentity::new(chain_id, &genesis), false))
    }

    /// Returns the rules of the stored genesis, which must equal the given one. If none is stored, stores the
    /// given one once its rules are valid and `check` accepts them.
    pub fn spec<E: From<DataDirError>>(
        &self,
        given: Option<&Genesis>,
        check: impl FnOnce(&Arc<ChainSpec>) -> Result<(), E>,
    ) -> Result<Arc<ChainSpec>, E> {
        if let Some(spec) = self.agreed(stored_genesis(&self.path)?, given)? {
            return Ok(spec);
        }
        let given = given.ok_or_else(|| DataDirError::NoGenesis { datadir: self.path.clone() })?;
        let spec = Arc::new(ChainSpec::new(given.clone()).map_err(DataDirError::from)?);
        check(&spec)?;
        self.store_genesis(given)?;
        Ok(spec)
    }

    /// Returns the rules of the stored genesis, which must equal the given one; `None` if none is stored.
    fn agreed(
        &self,
        stored: Option<Genesis>,
        given: Option<&Genesis>,
    ) -> Result<Option<Arc<ChainSpec>>, DataDirError> {
        let Some(stored) = stored else { return Ok(None) };
        if let Some(given) = given
            && !same(&stored, given)?
        {
            return Err(DataDirError::OtherGenesis { datadir: self.path.clone() });
        }
        Ok(Some(Arc::new(ChainSpec::new(stored)?)))
    }

    fn store_genesis(&self, genesis: &Genesis) -> Result<(), DataDirError> {
        let path = self.path.join(GENESIS);
        let text = serde_json::to_vec_pretty(genesis).map_err(foreseal_primitives::GenesisError::from)?;
        checked_file::replace(&path, &text).map_err(|e| DataDirError::io("write", &path, &e))
    }

    /// Removes and returns the pool that a clean stop saved, and marks the start of a run. Until
    /// [`Self::save_pool`] is called, further calls report the pool as lost, so a crash never restores an
    /// outdated one.
    pub fn load_pool(&self) -> Result<SavedPool, DataDirError> {
        let (path, running) = (self.path.join("pool.bin"), self.path.join("running"));
        let found = checked_file::read(&path, checked_file::unseal)
            .map_err(|error| DataDirError::io("read", &path, &error))?;
        let there = found.is_some();
        let saved = match found {
            Some(Ok(content)) => SavedPool::Bytes(content.bytes()),
            // Transactions that were only in the pool were never pre-confirmed, so a damaged file does not
            // prevent a start.
            Some(Err(error)) => {
                tracing::error!(%error, "the saved pool is not used");
                SavedPool::Lost
            }
            None if running.exists() => SavedPool::Lost,
            None => SavedPool::None,
        };
        File::create(&running).map_err(|e| DataDirError::io("create", &running, &e))?;
        if there {
            fs::remove_file(&path).map_err(|e| DataDirError::io("remove", &path, &e))?;
        }
        sync_folder(&self.path).map_err(|e| DataDirError::io("sync", &self.path, &e))?;
        Ok(saved)
    }

    /// Saves the pool for the next start. The marker of the run is removed last: after a crash before that,
    /// the next start still finds the pool.
    pub fn save_pool(&self, bytes: &[u8]) -> Result<(), DataDirError> {
        let (path, running) = (self.path.join("pool.bin"), self.path.join("running"));
        checked_file::replace(&path, &checked_file::seal(bytes))
            .map_err(|e| DataDirError::io("write", &path, &e))?;
        match fs::remove_file(&running) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(DataDirError::io("remove", &running, &error))
            }
            _ => Ok(()),
        }
    }
}

/// Read-only access of a follower to a data directory. Writes nothing but the store's reader lock file, and
/// takes no lock.
pub(crate) struct FollowerDataDir {
    pub spec: ChainSpec,
    pub store: Store,
    pub journal: PathBuf,
}

impl FollowerDataDir {
    /// Opens the store that the sequencer created. If a genesis is given, it must equal the stored one.
    pub fn open(path: &Path, given: Option<&Genesis>, settings: &StoreSettings) -> Result<Self, NodeError> {
        let stored =
            stored_genesis(path)?.ok_or_else(|| DataDirError::NoGenesis { datadir: path.to_owned() })?;
        if let Some(given) = given
            && !same(&stored, given)?
        {
            return Err(DataDirError::OtherGenesis { datadir: path.to_owned() }.into());
        }
        let spec = ChainSpec::new(stored).map_err(DataDirError::from)?;
        let options = StoreOptions { read_only: true, ..store_options(&spec, settings) };
        let store = Store::open(path.join(STORE), options)?;
        Ok(Self { spec, store, journal: journal(path) })
    }
}

fn journal(path: &Path) -> PathBuf {
    path.join("journal")
}

fn store_options(spec: &ChainSpec, settings: &StoreSettings) -> StoreOptions {
    StoreOptions {
        map_size: settings.map_size,
        // Step states are computed by re-execution on the state before their block, so one more block is
        // needed.
        proof_window: settings.proofs.saturating_add(1),
        step_window: STEP_WINDOW,
        at: settings.at,
        caches: settings.caches.state,
        ..StoreOptions::new(spec.chain_id(), genesis_hash(spec))
    }
}

/// Returns the rules of the chain in a data directory; `None` if it holds none. Takes no lock.
pub(crate) fn stored_spec(datadir: &Path) -> Result<Option<ChainSpec>, DataDirError> {
    Ok(stored_genesis(datadir)?.map(ChainSpec::new).transpose()?)
}

fn stored_genesis(datadir: &Path) -> Result<Option<Genesis>, DataDirError> {
    let path = datadir.join(GENESIS);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DataDirError::io("read", &path, &error)),
    };
    if let Some(identity) = DirIdentity::read(datadir)? {
        let damaged = |mismatch| DamagedFile { path: path.clone(), mismatch };
        identity.genesis.verify(&bytes).map_err(damaged)?;
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        DataDirError::io("read", &path, &io::Error::new(io::ErrorKind::InvalidData, error))
    })?;
    Ok(Some(parse_genesis(&text)?))
}

/// Returns `true` if two genesis files define the same chain: the same rules and the same allocation.
fn same(a: &Genesis, b: &Genesis) -> Result<bool, DataDirError> {
    let text =
        |genesis: &Genesis| serde_json::to_value(genesis).map_err(foreseal_primitives::GenesisError::from);
    Ok(text(a)? == text(b)?)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
