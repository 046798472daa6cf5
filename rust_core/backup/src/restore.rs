//! Restoration of a data directory from a backup.

use std::{fs, ops::ControlFlow, path::Path, sync::Arc};

use foreseal_chain::datadir::{
    CopiedComponent, CopyCallback, CopyProgress, DataDir, genesis_hash, stored_spec,
};
use foreseal_journal::{Disk, DiskFile, Identity, JournalReport, RealDisk, check, segment_size};
use foreseal_store::{StoreCopy, StoreOptions};

use crate::{
    BackupError, Manifest, ManifestFile,
    file_names::{GENESIS, IDENTITY, JOURNAL, KEY, MANIFEST, STORE, STORE_FILE},
    files::{Written, io_error, make_folder, read_checked, sync_folder},
    make::remove_lock,
};

/// Folder in the new data directory in which all files are prepared.
const DRAFT: &str = "restoring";
const LOCK: &str = "LOCK";
const SECTOR: usize = 512;

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
    check_files(&manifest)?;
    if !is_new(datadir)? {
        return Err(BackupError::NotEmpty(datadir.to_owned()));
    }
    // From here on no node can start on this data directory.
    let _lock = DataDir::lock(datadir)?;
    let draft = datadir.join(DRAFT);
    if draft.exists() {
        fs::remove_dir_all(&draft).map_err(io_error("remove", &draft))?;
    }
    let made = write_draft(&manifest, backup, &draft, map_size, watch);
    if let Err(error) = made {
        // If the removal fails, the next attempt repeats it.
        let _ = fs::remove_dir_all(&draft);
        return Err(error);
    }
    // The genesis is moved last: without it the folder holds no chain.
    for name in [JOURNAL, STORE, KEY, IDENTITY, GENESIS] {
        let from = draft.join(name);
        if from.exists() {
            fs::rename(&from, datadir.join(name)).map_err(io_error("rename", &from))?;
        }
    }
    fs::remove_dir(&draft).map_err(io_error("remove", &draft))?;
    sync_folder(datadir)?;
    Ok(manifest)
}

/// Returns `true` if the folder is empty except for the files of an interrupted restore.
fn is_new(datadir: &Path) -> Result<bool, BackupError> {
    if !datadir.exists() {
        return Ok(true);
    }
    for entry in fs::read_dir(datadir).map_err(io_error("read", datadir))? {
        let name = entry.map_err(io_error("read", datadir))?.file_name();
        if name != DRAFT && name != LOCK {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rejects a manifest with unknown file names before any file is written.
fn check_files(manifest: &Manifest) -> Result<(), BackupError> {
    let segment = |path: &str| {
        let name = path.strip_prefix("journal/").and_then(|name| name.strip_suffix(".segment"));
        name.is_some_and(|number| number.len() >= 10 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for file in &manifest.files {
        if !([STORE_FILE, GENESIS, IDENTITY, KEY].contains(&file.path.as_str()) || segment(&file.path)) {
            let why = "unexpected file".to_owned();
            return Err(BackupError::Damaged { file: file.path.clone(), why });
        }
    }
    for name in [STORE_FILE, GENESIS] {
        if !manifest.files.iter().any(|file| file.path == name) {
            let why = format!("{name} is not listed");
            return Err(BackupError::Damaged { file: MANIFEST.to_owned(), why });
        }
    }
    Ok(())
}

fn write_draft(
    manifest: &Manifest,
    backup: &Path,
    draft: &Path,
    map_size: usize,
    watch: CopyCallback<'_>,
) -> Result<(), BackupError> {
    make_folder(draft)?;
    make_folder(&draft.join(JOURNAL))?;
    let sum = |journal: bool| -> u64 {
        let files = manifest.files.iter().filter(|file| file.path.starts_with("journal/") == journal);
        files.map(|file| file.bytes).sum()
    };
    let (mut stored, mut journalled) = (0, 0);
    for file in &manifest.files {
        let journal = file.path.starts_with("journal/");
        let (part, done) = if journal {
            (CopiedComponent::Journal, &mut journalled)
        } else {
            (CopiedComponent::Store, &mut stored)
        };
        let of = sum(journal);
        let mut report = |bytes: usize| {
            *done += bytes as u64;
            match watch(CopyProgress { part, done: *done, of }) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(BackupError::Interrupted),
            }
        };
        if journal {
            restore_segment(backup, file, draft, &mut report)?;
        } else {
            restore_file(backup, file, draft, &mut report)?;
        }
    }
    for folder in [draft.join(STORE), draft.join(JOURNAL), draft.to_owned()] {
        sync_folder(&folder)?;
    }
    check_chain(manifest, draft, map_size)
}

type RestoreProgress<'a> = &'a mut dyn FnMut(usize) -> Result<(), BackupError>;

fn restore_file(
    backup: &Path,
    file: &ManifestFile,
    draft: &Path,
    report: RestoreProgress<'_>,
) -> Result<(), BackupError> {
    let mut to = Written::create(draft, &file.path)?;
    let path = draft.join(&file.path);
    read_checked(backup, file, &mut |bytes| {
        to.write(bytes).map_err(io_error("write", &path))?;
        report(bytes.len())
    })?;
    to.finish().map(drop)
}

/// Writes a segment at its full size. A segment has free space for later appends; the backup holds only its
/// content.
fn restore_segment(
    backup: &Path,
    file: &ManifestFile,
    draft: &Path,
    report: RestoreProgress<'_>,
) -> Result<(), BackupError> {
    let path = draft.join(&file.path);
    let mut to: Option<(Box<dyn DiskFile>, u64)> = None;
    read_checked(backup, file, &mut |bytes| {
        let (segment, offset) = if let Some(to) = &mut to {
            to
        } else {
            let size = bytes.first_chunk::<SECTOR>().and_then(segment_size);
            let why = "it has no segment header".to_owned();
            let size = size.ok_or(BackupError::Damaged { file: file.path.clone(), why })?;
            let made = RealDisk.create(&path, size.max(file.bytes)).map_err(io_error("create", &path))?;
            to.insert((made, 0))
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = segment.write_at(rest, *offset).map_err(io_error("write", &path))?;
            *offset += written as u64;
            rest = &rest[written..];
        }
        report(bytes.len())
    })?;
    match to {
        Some((segment, _)) => segment.sync().map_err(io_error("sync", &path)),
        None => Err(BackupError::Damaged { file: file.path.clone(), why: "it is empty".to_owned() }),
    }
}

/// Verifies the restored files as a start would: the journal is undamaged, and the store belongs to its
/// chain.
fn check_chain(manifest: &Manifest, draft: &Path, map_size: usize) -> Result<(), BackupError> {
    let damaged = |file: &str, why: String| BackupError::Damaged { file: file.to_owned(), why };
    let spec = stored_spec(draft)?.ok_or_else(|| damaged(GENESIS, "it is missing".to_owned()))?;
    let genesis = genesis_hash(&spec);
    if (spec.chain_id(), genesis) != (manifest.chain_id, manifest.genesis) {
        return Err(damaged(GENESIS, "it is not the genesis of the copied chain".to_owned()));
    }
    let report: JournalReport = check(&draft.join(JOURNAL), Arc::new(RealDisk))?;
    if let Some(fault) = &report.fault {
        return Err(damaged(JOURNAL, format!("{}: {}", fault.position, fault.reason)));
    }
    let found = (report.identity, report.first_sequence, report.first_sequence + report.appends);
    let identity = Identity { chain_id: manifest.chain_id, genesis };
    if found != (Some(identity), manifest.journal_first, manifest.journal_next) {
        return Err(damaged(JOURNAL, "it does not have the copied appends".to_owned()));
    }
    let options = StoreOptions { map_size, ..StoreOptions::new(spec.chain_id(), genesis) };
    let store = StoreCopy::open(&draft.join(STORE), &options)?;
    let progress = store.progress()?;
    let head = manifest.head.map(|head| (head.number, head.hash));
    if (progress.head.map(|head| (head.number, head.hash)), progress.journal_sequence)
        != (head, manifest.journal_sequence)
    {
        return Err(damaged(STORE_FILE, "it does not end where the manifest says".to_owned()));
    }
    drop(store);
    remove_lock(draft)
}
