//! Creation of a backup.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use foreseal_chain::datadir::CopyCallback;

use crate::{
    backup_source::BackupSource,
    data_dir_copy::DataDirCopy,
    error::BackupError,
    file_names::{JOURNAL, STORE},
    files::{io_error, is_free, sync_folder},
    folder_sink::FolderSink,
    manifest::Manifest,
};

/// Maximum attempts to copy store and journal if the node removes journal segments in between.
const ATTEMPTS: u32 = 3;

/// Copies a data directory to the folder `target`, which must be new or empty. A node may run on it
/// meanwhile: its lock is not taken. The copy contains every step that was durable when the call began. `now`
/// is the time since the Unix epoch.
///
/// The copy is written to `target.partial` and renamed once everything in it is durable.
///
/// # Errors
/// A failed copy leaves nothing at `target`, and removes `target.partial` as far as possible.
pub fn back_up(
    source: &BackupSource<'_>,
    target: &Path,
    now: Duration,
    watch: CopyCallback<'_>,
) -> Result<Manifest, BackupError> {
    let spec = source.spec()?;
    let copy = DataDirCopy { source, spec: &spec, with_key: source.with_key, now };
    if !is_free(target)? {
        return Err(BackupError::NotEmpty(target.to_owned()));
    }
    let draft = draft_of(target);
    if fs::symlink_metadata(&draft).is_ok() {
        return Err(BackupError::Unfinished(draft));
    }
    let mut attempt = 1;
    let made = loop {
        let made = write_draft(&copy, &draft, watch);
        match made {
            Err(BackupError::Outrun { sequence }) if attempt < ATTEMPTS => {
                tracing::warn!(sequence, "journal removed during the copy of the store: retrying");
                attempt += 1;
                fs::remove_dir_all(&draft).map_err(io_error("remove", &draft))?;
            }
            other => break other,
        }
    };
    let finished = made.and_then(|manifest| {
        fs::rename(&draft, target).map_err(io_error("rename", &draft))?;
        target.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), sync_folder)?;
        Ok(manifest)
    });
    if finished.is_err() {
        // Removes only what this call wrote. If that fails, the next call reports the leftover folder.
        let _ = fs::remove_dir_all(&draft);
    }
    finished
}

fn draft_of(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    target.with_file_name(name)
}

fn write_draft(
    copy: &DataDirCopy<'_>,
    draft: &Path,
    watch: CopyCallback<'_>,
) -> Result<Manifest, BackupError> {
    let manifest = copy.run(&mut FolderSink::new(draft), watch)?;
    manifest.write(draft)?;
    for folder in [draft.join(STORE), draft.join(JOURNAL), draft.to_owned()] {
        sync_folder(&folder)?;
    }
    Ok(manifest)
}
