//! Files that are written once, synced and identified by their hash.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use alloy_primitives::B256;
use foreseal_chain::datadir::{Checksum, DataDirError, Mismatch};
use serde::{Deserialize, Serialize};

use crate::error::BackupError;

/// Bytes read at a time.
const CHUNK_SIZE: usize = 1 << 20;
/// Bytes after which a file is synced, so that the last sync is short and no writer on the same disk waits long.
const SYNC_INTERVAL: usize = 64 << 20;
/// Maximum size in bytes of a file in which the offset of a flipped bit is searched.
const LOCATED: u64 = 64 << 20;

/// A file of the backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Path relative to the folder of the backup.
    pub path: String,
    pub bytes: u64,
    /// BLAKE3 hash of the file.
    pub blake3: B256,
    /// CRC-32C of the file, which locates a single flipped bit.
    pub crc32c: u32,
}

pub(crate) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |error| DataDirError::io(what, &path, &error).into()
}

/// Size and hashes of the content that was passed so far.
#[derive(Default)]
pub(crate) struct ContentHash {
    hasher: blake3::Hasher,
    crc: u32,
    bytes: u64,
}

impl ContentHash {
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.bytes += bytes.len() as u64;
    }

    pub fn finish(self, path: String) -> ManifestFile {
        let blake3 = B256::from(*self.hasher.finalize().as_bytes());
        ManifestFile { path, bytes: self.bytes, blake3, crc32c: self.crc }
    }
}

/// A file of a backup that is being written.
pub(crate) struct Written {
    file: File,
    path: PathBuf,
    name: String,
    content: ContentHash,
    /// Number of bytes since the last sync.
    unsynced: usize,
}

impl Written {
    /// Creates a file that only its owner can read. Creates its folder if it does not exist.
    pub fn create(folder: &Path, name: &str) -> Result<Self, BackupError> {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(io_error("create", &path))?;
        Ok(Self { file, path, name: name.to_owned(), content: ContentHash::default(), unsynced: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.file.write_all(bytes).map_err(io_error("write", &self.path))?;
        self.content.update(bytes);
        self.unsynced += bytes.len();
        if self.unsynced >= SYNC_INTERVAL {
            self.file.sync_data().map_err(io_error("sync", &self.path))?;
            self.unsynced = 0;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<ManifestFile, BackupError> {
        self.file.sync_all().map_err(io_error("sync", &self.path))?;
        Ok(self.content.finish(self.name))
    }
}

/// Writes a complete file.
pub(crate) fn write_file(folder: &Path, name: &str, bytes: &[u8]) -> Result<ManifestFile, BackupError> {
    let mut file = Written::create(folder, name)?;
    file.write(bytes)?;
    file.finish()
}

/// Passes the bytes of a backup file to `sink`, and verifies size and hash at the end.
pub(crate) fn read_checked(
    folder: &Path,
    file: &ManifestFile,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let damaged = |why: String| BackupError::Damaged { file: file.path.clone(), why };
    let path = folder.join(&file.path);
    let mut source = File::open(&path).map_err(|error| damaged(format!("it cannot be opened: {error}")))?;
    let (mut hasher, mut done, mut piece) = (blake3::Hasher::new(), 0, vec![0; CHUNK_SIZE]);
    loop {
        let read = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => &piece[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(damaged(format!("it cannot be read: {error}"))),
        };
        done += read.len() as u64;
        hasher.update(read);
        sink(read)?;
    }
    if done != file.bytes {
        return Err(damaged(format!("it has {done} bytes, not {}", file.bytes)));
    }
    if hasher.finalize().as_bytes() != file.blake3.as_slice() {
        let content = (file.bytes <= LOCATED).then(|| fs::read(&path).ok()).flatten();
        let sum = Checksum { blake3: file.blake3, crc32c: file.crc32c };
        let why = content.and_then(|bytes| sum.verify(&bytes).err());
        return Err(damaged(why.unwrap_or(Mismatch { offset: None }).to_string()));
    }
    Ok(())
}

/// Creates a folder that only its owner can access, and its missing parents.
pub(crate) fn make_folder(path: &Path) -> Result<(), BackupError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_error("create", path))
}

/// Makes the directory entries of a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), BackupError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(io_error("sync", path))
}

/// Returns `true` if the path does not exist or is an empty folder.
pub(crate) fn is_free(path: &Path) -> Result<bool, BackupError> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_the_file() {
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let name = "data.mdb".to_owned();
        let mut written = Written { file, path, name, content: ContentHash::default(), unsynced: 0 };
        let error = written.write(b"content").unwrap_err().to_string();
        assert!(error.starts_with("cannot write /dev/full: No space left on device"), "{error}");
    }
}
