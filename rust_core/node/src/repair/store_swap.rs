//! Exchange of a damaged store with a repaired one. After a crash at any moment, one of them is in place.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use foreseal_chain::datadir::STORE;

use crate::errors::node_error::NodeError;

/// Directories of a repair inside a data directory.
pub(crate) struct StoreFolders {
    datadir: PathBuf,
    pub store: PathBuf,
    /// New store that is not in use yet.
    pub repaired: PathBuf,
    pub damaged: PathBuf,
}

impl StoreFolders {
    pub fn new(datadir: &Path) -> Self {
        let [store, repaired, damaged] =
            [STORE, "store.repaired", "store.damaged"].map(|name| datadir.join(name));
        Self { datadir: datadir.to_owned(), store, repaired, damaged }
    }

    /// Moves the repaired store, if it exists, into place, and the damaged one, if it exists, aside.
    pub fn swap(&self) -> Result<(), NodeError> {
        let Self { store, repaired, damaged, .. } = self;
        match (store.exists(), repaired.exists()) {
            (true, true) => {
                // The damaged store stays in use until the exchange, so losing the repaired one loses no
                // data.
                rename(repaired, damaged)?;
                self.exchange()?;
            }
            (true, false) => rename(store, damaged)?,
            (false, true) => rename(repaired, store)?,
            (false, false) => {}
        }
        self.sync()
    }

    /// Moves the damaged store back, and removes the store that replaced it.
    pub fn undo(&self) -> Result<(), NodeError> {
        let Self { store, damaged, .. } = self;
        match (store.exists(), damaged.exists()) {
            (true, true) => {
                self.exchange()?;
                self.sync()?;
                remove(damaged)?;
            }
            (true, false) => remove(store)?,
            (false, true) => rename(damaged, store)?,
            (false, false) => {}
        }
        self.sync()
    }

    /// Exchanges `store` and `store.damaged`.
    fn exchange(&self) -> Result<(), NodeError> {
        match rename_exchange(&self.damaged, &self.store) {
            Ok(()) => Ok(()),
            // The file system does not support an atomic exchange. If a crash interrupts the renames, the
            // next repair detects it.
            Err(_) => self.exchange_by_renames(),
        }
    }

    fn exchange_by_renames(&self) -> Result<(), NodeError> {
        let Self { store, repaired, damaged, .. } = self;
        rename(store, repaired)?;
        rename(damaged, store)?;
        rename(repaired, damaged)
    }

    fn sync(&self) -> Result<(), NodeError> {
        let synced = File::open(&self.datadir).and_then(|folder| folder.sync_all());
        synced.map_err(|error| NodeError::io("sync", &self.datadir, &error))
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), NodeError> {
    fs::rename(from, to).map_err(|error| NodeError::io("rename", from, &error))
}

fn remove(folder: &Path) -> Result<(), NodeError> {
    fs::remove_dir_all(folder).map_err(|error| NodeError::io("remove", folder, &error))
}

/// Exchanges two directories atomically.
#[cfg(target_os = "linux")]
fn rename_exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn folders(names: &[&str]) -> (tempfile::TempDir, StoreFolders) {
        let datadir = tempfile::tempdir().unwrap();
        for name in names {
            let folder = datadir.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("data.mdb"), name).unwrap();
        }
        let folders = StoreFolders::new(datadir.path());
        (datadir, folders)
    }

    fn content(folder: &Path) -> Option<String> {
        fs::read_to_string(folder.join("data.mdb")).ok()
    }

    #[test]
    fn a_swap_and_its_reversal_leave_one_store() {
        let (_datadir, folders) = folders(&["store", "store.repaired"]);
        folders.swap().unwrap();
        assert_eq!(content(&folders.store).as_deref(), Some("store.repaired"));
        assert_eq!(content(&folders.damaged).as_deref(), Some("store"));
        assert!(!folders.repaired.exists());
        folders.undo().unwrap();
        assert_eq!(content(&folders.store).as_deref(), Some("store"));
        assert!(!folders.damaged.exists());
    }

    #[test]
    fn folders_are_exchanged_without_support_of_the_file_system() {
        let (_datadir, folders) = folders(&["store", "store.damaged"]);
        folders.exchange_by_renames().unwrap();
        assert_eq!(content(&folders.store).as_deref(), Some("store.damaged"));
        assert_eq!(content(&folders.damaged).as_deref(), Some("store"));
    }
}
