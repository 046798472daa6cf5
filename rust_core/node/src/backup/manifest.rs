//! What a backup says about itself.

use std::{fs, io, path::Path};

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

use super::{BackupError, MANIFEST, files::write_file};
use crate::checked_file::{self, Content};

/// The newest form of a backup that this program reads, and the one that it writes.
pub(super) const FORMAT: u32 = 2;
/// The oldest one: it has no checksum of the manifest.
const OLDEST: u32 = 1;

/// The file `MANIFEST.json`, written last: a folder without it is no backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    /// Version of the program that made it.
    pub program: String,
    /// Milliseconds since 1970.
    pub time: u64,
    pub chain_id: u64,
    pub genesis: B256,
    /// Schema of the store.
    pub schema: u32,
    /// The newest block in the store; null before genesis is.
    pub head: Option<ManifestBlock>,
    /// Append of the journal up to which the store has it.
    pub journal_sequence: u64,
    /// Numbers of the first append of the journal that is in the backup, and of the one after the last.
    pub journal_first: u64,
    pub journal_next: u64,
    pub files: Vec<ManifestFile>,
}

/// A block by position and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestBlock {
    pub number: u64,
    pub hash: B256,
}

/// A file of the backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Below the folder of the backup.
    pub path: String,
    pub bytes: u64,
    /// Hash of all its bytes.
    pub blake3: B256,
    /// Their CRC-32C, which finds the place of one changed bit; absent in format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32c: Option<u32>,
}

impl Manifest {
    pub(super) fn write(&self, folder: &Path) -> Result<(), BackupError> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| BackupError::NotABackup { path: folder.to_owned(), why: error.to_string() })?;
        write_file(folder, MANIFEST, &checked_file::seal_json(&text)).map(drop)
    }

    /// That of the backup in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, BackupError> {
        let refused = |why: String| BackupError::NotABackup { path: folder.to_owned(), why };
        let text = fs::read(folder.join(MANIFEST)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused(format!("there is no {MANIFEST} in it")),
            _ => refused(format!("{MANIFEST} cannot be read: {error}")),
        })?;
        let damaged = |why| BackupError::Damaged { file: MANIFEST.to_owned(), why };
        let content = checked_file::unseal_json(text).map_err(|mismatch| damaged(mismatch.to_string()))?;
        let checked = matches!(content, Content::Checked(_));
        let text = content.bytes();
        let format = serde_json::from_slice::<OfAnyFormat>(&text).map(|manifest| manifest.format);
        match format {
            Ok(FORMAT) if checked => {}
            Ok(FORMAT) => return Err(damaged("it has no checksum".to_owned())),
            Ok(OLDEST) => {}
            Ok(found) if found > FORMAT => {
                return Err(BackupError::NewerFormat { found, supported: FORMAT });
            }
            Ok(found) => return Err(refused(format!("there is no format {found}"))),
            Err(error) => return Err(refused(format!("{MANIFEST} is not what a backup writes: {error}"))),
        }
        serde_json::from_slice(&text)
            .map_err(|error| refused(format!("{MANIFEST} is not what a backup writes: {error}")))
    }
}

#[derive(Deserialize)]
struct OfAnyFormat {
    format: u32,
}
