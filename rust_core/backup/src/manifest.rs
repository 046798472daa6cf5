//! The manifest of a backup.

use std::{fs, io, path::Path};

use alloy_primitives::B256;
use foreseal_chain::datadir::checked_file;
use serde::{Deserialize, Serialize};

use crate::{
    error::BackupError,
    file_names::{GENESIS, MANIFEST, STORE_FILE, is_copied},
    files::{ManifestFile, write_file},
};

/// Version of the format of backups that this program reads and writes.
pub(crate) const VERSION: u32 = 1;

/// Content of `MANIFEST.json`. It is written last: a folder without it is not a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format.
    pub version: u32,
    /// Version of the program that made the backup.
    pub program: String,
    /// Milliseconds since the Unix epoch.
    pub time: u64,
    pub chain_id: u64,
    pub genesis: B256,
    /// Schema version of the store.
    pub schema: u32,
    /// Newest block in the store; null if the store has no block yet.
    pub head: Option<ManifestBlock>,
    /// Sequence number of the journal append up to which the store is complete.
    pub journal_sequence: u64,
    /// Sequence number of the first journal append in the backup, and the one after the last.
    pub journal_first: u64,
    pub journal_next: u64,
    pub files: Vec<ManifestFile>,
}

/// Number and hash of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestBlock {
    pub number: u64,
    pub hash: B256,
}

impl Manifest {
    /// Encodes the content of the file, with its checksum.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, BackupError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| invalid(&error))?;
        Ok(checked_file::seal_json(&text))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), BackupError> {
        write_file(folder, MANIFEST, &self.encode()?).map(drop)
    }

    /// Reads the manifest of the backup in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, BackupError> {
        let refused = |why: String| BackupError::NotABackup { path: folder.to_owned(), why };
        let text = fs::read(folder.join(MANIFEST)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused(format!("{MANIFEST} is missing")),
            _ => refused(format!("{MANIFEST} cannot be read: {error}")),
        })?;
        Self::decode(text, refused)
    }

    /// Decodes the content of the file. `refused` returns the error for content that is not a manifest.
    pub(crate) fn decode(
        text: Vec<u8>,
        refused: impl Fn(String) -> BackupError,
    ) -> Result<Self, BackupError> {
        let damaged = |why| BackupError::Damaged { file: MANIFEST.to_owned(), why };
        if let Ok(AnyManifest { version: None, format: Some(_) }) = serde_json::from_slice(&text) {
            return Err(BackupError::Unreleased);
        }
        let text = checked_file::unseal_json(text).map_err(|mismatch| damaged(mismatch.to_string()))?;
        match serde_json::from_slice(&text) {
            Ok(AnyManifest { version: Some(VERSION), .. }) => {}
            Ok(AnyManifest { version: Some(version), .. }) if version > VERSION => {
                return Err(BackupError::NewerFormat { version, supported: VERSION });
            }
            Ok(_) => return Err(refused(format!("{MANIFEST} has no version of a backup"))),
            Err(error) => return Err(refused(format!("{MANIFEST} is invalid: {error}"))),
        }
        serde_json::from_slice(&text).map_err(|error| refused(format!("{MANIFEST} is invalid: {error}")))
    }

    /// Rejects a manifest with unexpected or missing files before any of them is written.
    pub(crate) fn check_files(&self) -> Result<(), BackupError> {
        if let Some(file) = self.files.iter().find(|file| !is_copied(&file.path)) {
            let why = "unexpected file".to_owned();
            return Err(BackupError::Damaged { file: file.path.clone(), why });
        }
        for name in [STORE_FILE, GENESIS] {
            if !self.files.iter().any(|file| file.path == name) {
                let why = format!("{name} is not listed");
                return Err(BackupError::Damaged { file: MANIFEST.to_owned(), why });
            }
        }
        Ok(())
    }
}

fn invalid(error: &serde_json::Error) -> BackupError {
    BackupError::Damaged { file: MANIFEST.to_owned(), why: error.to_string() }
}

/// The version of a manifest. Unreleased programs wrote theirs as `format`.
#[derive(Deserialize)]
struct AnyManifest {
    version: Option<u32>,
    format: Option<u32>,
}
