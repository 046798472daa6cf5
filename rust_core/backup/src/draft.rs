//! The folder in which a data directory is prepared.

use std::{
    fs,
    path::{Path, PathBuf},
};

use foreseal_chain::datadir::DataDir;

use crate::{
    chain_check::check_chain,
    draft_file::DraftFile,
    error::BackupError,
    file_names::{GENESIS, IDENTITY, JOURNAL, KEY, STORE},
    files::{io_error, make_folder, sync_folder},
    manifest::Manifest,
};

/// Folder in the new data directory in which all files are prepared. No node reads it.
const DRAFT: &str = "restoring";
/// Folder of the socket between the processes of a node, in its data directory.
const FEED_FOLDER: &str = "feed";
const LOCK: &str = "LOCK";

/// The files of a new data directory, before they are moved into place. Dropping it removes them.
pub(crate) struct Draft<'a> {
    datadir: &'a Path,
    folder: PathBuf,
    /// While it is held, no node can start on the data directory.
    _lock: DataDir,
}

impl<'a> Draft<'a> {
    /// Locks the data directory, which must be new or empty except for the files of an interrupted attempt, and
    /// removes these.
    pub fn create(datadir: &'a Path) -> Result<Self, BackupError> {
        if !is_new(datadir)? {
            return Err(BackupError::NotEmpty(datadir.to_owned()));
        }
        let lock = DataDir::lock(datadir)?;
        // Before it was locked, another process may have filled it.
        if !is_new(datadir)? {
            return Err(BackupError::NotEmpty(datadir.to_owned()));
        }
        let folder = datadir.join(DRAFT);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(io_error("remove", &folder))?;
        }
        let draft = Self { datadir, folder, _lock: lock };
        make_folder(&draft.folder)?;
        make_folder(&draft.folder.join(JOURNAL))?;
        Ok(draft)
    }

    /// Creates the file with this path, which must be one that a data directory has.
    pub fn create_file(&self, path: &str) -> Result<DraftFile, BackupError> {
        DraftFile::create(&self.folder, path)
    }

    /// Verifies the files and moves them into place. The genesis is moved last: without it the folder holds no
    /// chain.
    pub fn commit(self, manifest: &Manifest, map_size: usize) -> Result<(), BackupError> {
        for folder in [self.folder.join(STORE), self.folder.join(JOURNAL), self.folder.clone()] {
            sync_folder(&folder)?;
        }
        check_chain(manifest, &self.folder, map_size)?;
        for name in [JOURNAL, STORE, KEY, IDENTITY, GENESIS] {
            let from = self.folder.join(name);
            if from.exists() {
                fs::rename(&from, self.datadir.join(name)).map_err(io_error("rename", &from))?;
            }
        }
        fs::remove_dir(&self.folder).map_err(io_error("remove", &self.folder))?;
        sync_folder(self.datadir)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // If the removal fails, the next attempt repeats it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns `true` if the folder is empty except for the files of an interrupted attempt, and for the folder of the
/// socket between the processes of a node, which exists before its data.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn is_new(datadir: &Path) -> Result<bool, BackupError> {
    if !datadir.exists() {
        return Ok(true);
    }
    for entry in fs::read_dir(datadir).map_err(io_error("read", datadir))? {
        let name = entry.map_err(io_error("read", datadir))?.file_name();
        if name != DRAFT && name != LOCK && name != FEED_FOLDER {
            return Ok(false);
        }
    }
    Ok(true)
}
