//! Restoration of a data directory from a backup.

use std::{ops::ControlFlow, path::Path};

use foreseal_chain::datadir::{CopiedComponent, CopyCallback, CopyProgress};

use crate::{
    draft::Draft,
    error::BackupError,
    file_names::is_segment,
    files::{ManifestFile, read_checked},
    manifest::Manifest,
};

/// Restores the backup in the folder `backup` to `datadir`, which must be new or empty. Every file is
/// verified against the manifest. The journal must be undamaged and continue where the store ends.
///
/// All files are prepared in a separate folder that no node reads. A restore that was interrupted starts from
/// the beginning.
pub fn restore(
    backup: &Path,
    datadir: &Path,
    map_size: usize,
    watch: CopyCallback<'_>,
) -> Result<Manifest, BackupError> {
    let manifest = Manifest::read(backup)?;
    manifest.check_files()?;
    let draft = Draft::create(datadir)?;
    restore_files(&manifest, backup, &draft, watch)?;
    draft.commit(&manifest, map_size)?;
    Ok(manifest)
}

fn restore_files(
    manifest: &Manifest,
    backup: &Path,
    draft: &Draft<'_>,
    watch: CopyCallback<'_>,
) -> Result<(), BackupError> {
    let sum = |journal: bool| -> u64 {
        let files = manifest.files.iter().filter(|file| is_segment(&file.path) == journal);
        files.map(|file| file.bytes).sum()
    };
    let (mut stored, mut journalled) = (0, 0);
    for file in &manifest.files {
        let journal = is_segment(&file.path);
        let (part, done) = if journal {
            (CopiedComponent::Journal, &mut journalled)
        } else {
            (CopiedComponent::Store, &mut stored)
        };
        let of = sum(journal);
        restore_file(backup, file, draft, &mut |bytes| {
            *done += bytes as u64;
            match watch(CopyProgress { part, done: *done, of }) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(BackupError::Interrupted),
            }
        })?;
    }
    Ok(())
}

fn restore_file(
    backup: &Path,
    file: &ManifestFile,
    draft: &Draft<'_>,
    report: &mut dyn FnMut(usize) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let mut to = draft.create_file(&file.path)?;
    read_checked(backup, file, &mut |bytes| {
        to.write(bytes)?;
        report(bytes.len())
    })?;
    to.finish().map(drop)
}
