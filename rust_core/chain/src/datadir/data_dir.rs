//! The data directory: one writer, one chain.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_genesis::Genesis;
use foreseal_journal::{DirLock, Disk, RealDisk};
use foreseal_primitives::{ChainSpec, GenesisError, parse_genesis};

use super::{checked_file, checked_file::DamagedFile, error::DataDirError, identity::DirIdentity};

/// File with the genesis of the chain.
pub const GENESIS: &str = "genesis.json";
/// File with the key that signs steps.
pub const KEY: &str = "sequencer.key";
/// Directory of the store in a data directory.
pub const STORE: &str = "store";
/// Directory of the journal's segments in a data directory.
pub const JOURNAL: &str = "journal";

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
        self.path.join(JOURNAL)
    }

    /// Returns the directory of the store.
    pub fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// Returns the path of the data directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the data directory's own key.
    pub fn key(&self) -> PathBuf {
        self.path.join(KEY)
    }

    /// Returns the identity of the directory, and `true` if it is recorded. Before the first start records it, the
    /// identity is derived from the genesis file.
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
        given: Option<Genesis>,
        check: impl FnOnce(&Arc<ChainSpec>) -> Result<(), E>,
    ) -> Result<Arc<ChainSpec>, E> {
        if let Some(spec) = agreed_spec(&self.path, given.as_ref())? {
            return Ok(Arc::new(spec));
        }
        let given = given.ok_or_else(|| DataDirError::NoGenesis { datadir: self.path.clone() })?;
        let spec = Arc::new(ChainSpec::new(given).map_err(DataDirError::from)?);
        check(&spec)?;
        self.store_genesis(spec.genesis())?;
        Ok(spec)
    }

    fn store_genesis(&self, genesis: &Genesis) -> Result<(), DataDirError> {
        let path = self.path.join(GENESIS);
        let text = serde_json::to_vec_pretty(genesis).map_err(GenesisError::from)?;
        checked_file::replace(&path, &text).map_err(|e| DataDirError::io("write", &path, &e))
    }

    /// Removes and returns the pool that a clean stop saved, and marks the start of a run. Until
    /// [`Self::save_pool`] is called, further calls report the pool as lost, so a crash never restores an
    /// outdated one.
    pub fn load_pool(&self) -> Result<SavedPool, DataDirError> {
        let (path, running) = (self.path.join("pool.bin"), self.path.join("running"));
        let content = checked_file::read(&path, checked_file::unseal)
            .map_err(|error| DataDirError::io("read", &path, &error))?;
        let there = content.is_some();
        let saved = match content {
            Some(Ok(bytes)) => SavedPool::Bytes(bytes),
            // Transactions that were only in the pool were never pre-confirmed, so a damaged file does not
            // prevent a start.
            Some(Err(error)) => {
                tracing::error!(%error, "ignoring the saved pool");
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

/// Returns the rules of the chain in a data directory; `None` if it holds none. Takes no lock.
pub fn stored_spec(datadir: &Path) -> Result<Option<ChainSpec>, DataDirError> {
    agreed_spec(datadir, None)
}

/// Returns the rules of the chain in a data directory, whose genesis must equal the given one; `None` if it
/// holds no chain. Takes no lock.
pub fn agreed_spec(datadir: &Path, given: Option<&Genesis>) -> Result<Option<ChainSpec>, DataDirError> {
    let Some(stored) = stored_genesis(datadir)? else { return Ok(None) };
    if let Some(given) = given
        && !same(&stored, given)?
    {
        return Err(DataDirError::OtherGenesis { datadir: datadir.to_owned() });
    }
    Ok(Some(ChainSpec::new(stored)?))
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
    let text = |genesis: &Genesis| serde_json::to_value(genesis).map_err(GenesisError::from);
    // Texts are compared only if the values differ: an account may be written in several ways.
    Ok(a == b || text(a)? == text(b)?)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
