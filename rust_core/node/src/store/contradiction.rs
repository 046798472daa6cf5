//! Record of the newest append that a follower received and the journal lacks. It is a file in the data
//! directory; a repair of the journal counts the append as lost.

use std::{fs, io, path::Path};

use foreseal_chain::datadir::{DamagedFile, DataDirError, Mismatch, checked_file};

const FILE: &str = "journal.contradicted";

/// Records the sequence number of an append durably, unless a newer one is recorded.
pub(crate) fn record(datadir: &Path, sequence: u64) -> Result<(), DataDirError> {
    let newer = matches!(read(datadir), Ok(Some(before)) if before >= sequence);
    if newer {
        return Ok(());
    }
    let path = datadir.join(FILE);
    let text = checked_file::seal(format!("{sequence}\n").as_bytes());
    checked_file::replace(&path, &text).map_err(|error| DataDirError::io("write", &path, &error))
}

/// Returns the recorded sequence number; `None` if there is none.
///
/// # Errors
/// Fails if the file cannot be read or is damaged.
pub(crate) fn read(datadir: &Path) -> Result<Option<u64>, DataDirError> {
    let path = datadir.join(FILE);
    let unsealed = checked_file::read(&path, checked_file::unseal);
    let Some(content) = unsealed.map_err(|error| DataDirError::io("read", &path, &error))? else {
        return Ok(None);
    };
    let damaged = || DamagedFile { path: path.clone(), mismatch: Mismatch { offset: None } }.into();
    let number = std::str::from_utf8(&content?).ok().and_then(|text| text.trim_end().parse().ok());
    number.map(Some).ok_or_else(damaged)
}

/// Removes the record.
pub(crate) fn remove(datadir: &Path) -> Result<(), DataDirError> {
    let path = datadir.join(FILE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DataDirError::io("remove", &path, &error))
        }
        _ => Ok(()),
    }
}
