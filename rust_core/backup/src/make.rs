//! Creation of a backup.

use std::{
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use foreseal_chain::datadir::{
    CopiedComponent, CopyCallback, CopyProgress, DataDirError, DirIdentity, genesis_hash, stored_spec,
};
use foreseal_journal::{Identity, PinnedAppends, PinnedSegments, journal_folder};
use foreseal_primitives::ChainSpec;
use foreseal_store::{Store, StoreCopy, StoreError, StoreOptions};

use crate::{
    BackupError, Manifest, ManifestFile,
    file_names::{GENESIS, IDENTITY, JOURNAL, KEY, STORE, STORE_FILE, STORE_LOCK},
    files::{Written, io_error, is_free, make_folder, sync_folder, write_file},
    manifest::{FORMAT, ManifestBlock},
};

/// Maximum attempts to copy store and journal if the node removes journal segments in between.
const ATTEMPTS: u32 = 3;

/// Data directory to copy.
pub struct BackupSource<'a> {
    pub datadir: &'a Path,
    /// The store, if this process has it open.
    pub store: Option<&'a Store>,
    /// Maximum size of the store in bytes, used if it is not open.
    pub map_size: usize,
    /// `true` to copy the key that signs steps. Any holder of the key can sign as the sequencer. A node that
    /// continues from an older backup with it contradicts the pre-confirmations signed since then.
    pub with_key: bool,
}

impl BackupSource<'_> {
    fn options(&self, spec: &ChainSpec) -> StoreOptions {
        StoreOptions { map_size: self.map_size, ..StoreOptions::new(spec.chain_id(), genesis_hash(spec)) }
    }

    fn copying(&self, options: &StoreOptions) -> Result<StoreCopy, StoreError> {
        match self.store {
            Some(store) => Ok(StoreCopy::from_store(store)),
            None => StoreCopy::open(&self.datadir.join(STORE), options),
        }
    }
}

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
    let missing = || DataDirError::NoGenesis { datadir: source.datadir.to_owned() };
    let spec = stored_spec(source.datadir)?.ok_or_else(missing)?;
    if !is_free(target)? {
        return Err(BackupError::NotEmpty(target.to_owned()));
    }
    let draft = draft_of(target);
    if fs::symlink_metadata(&draft).is_ok() {
        return Err(BackupError::Unfinished(draft));
    }
    let mut attempt = 1;
    let made = loop {
        let made = write_draft(source, &spec, &draft, now, watch);
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
    source: &BackupSource<'_>,
    spec: &ChainSpec,
    draft: &Path,
    now: Duration,
    watch: CopyCallback<'_>,
) -> Result<Manifest, BackupError> {
    make_folder(draft)?;
    let folder = journal_folder(source.datadir).map_err(|error| BackupError::NotABackup {
        path: source.datadir.to_owned(),
        why: error.to_string(),
    })?;
    let held = PinnedSegments::open(&folder)?;
    let options = source.options(spec);
    let copying = source.copying(&options)?;
    let schema = copying.schema()?;
    let mut files = vec![copy_store(&copying, draft, watch)?];
    drop(copying);
    let copy = StoreCopy::open(&draft.join(STORE), &options)?;
    let progress = copy.progress()?;
    drop(copy);
    remove_lock(draft)?;
    let all = held.refresh()?;
    let identity = Identity { chain_id: options.chain_id, genesis: options.genesis };
    let extent = held.verify_appends(identity, progress.journal_sequence)?;
    let sequence = progress.journal_sequence;
    if extent.first > sequence || (!all && extent.next <= sequence) {
        return Err(BackupError::Outrun { sequence });
    }
    files.extend(copy_journal(&held, &extent, draft, watch)?);
    files.push(copy_file(source.datadir, GENESIS, draft)?);
    // Data directories of older versions have no identity file. It identifies the signer if the key is not
    // copied.
    if DirIdentity::read(source.datadir)?.is_some() {
        files.push(copy_file(source.datadir, IDENTITY, draft)?);
    }
    if source.with_key {
        if !source.datadir.join(KEY).exists() {
            return Err(BackupError::NoKey(source.datadir.to_owned()));
        }
        files.push(copy_file(source.datadir, KEY, draft)?);
    }
    let manifest = Manifest {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        time: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        chain_id: options.chain_id,
        genesis: options.genesis,
        schema,
        head: progress.head.map(|head| ManifestBlock { number: head.number, hash: head.hash }),
        journal_sequence: sequence,
        journal_first: extent.first,
        journal_next: extent.next,
        files,
    };
    manifest.write(draft)?;
    for folder in [draft.join(STORE), draft.join(JOURNAL), draft.to_owned()] {
        sync_folder(&folder)?;
    }
    Ok(manifest)
}

fn copy_store(
    copying: &StoreCopy,
    draft: &Path,
    watch: CopyCallback<'_>,
) -> Result<ManifestFile, BackupError> {
    let of = copying.bytes();
    let mut file = Written::create(draft, STORE_FILE)?;
    let mut ended = false;
    let copied = copying.copy(&mut |bytes| {
        file.write(bytes)?;
        ended = watch(CopyProgress { part: CopiedComponent::Store, done: file.bytes(), of }).is_break();
        if ended { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    });
    if ended {
        return Err(BackupError::Interrupted);
    }
    copied?;
    file.finish()
}

fn copy_journal(
    held: &PinnedSegments,
    extent: &PinnedAppends,
    draft: &Path,
    watch: CopyCallback<'_>,
) -> Result<Vec<ManifestFile>, BackupError> {
    make_folder(&draft.join(JOURNAL))?;
    let of = extent.segments.iter().map(|segment| segment.bytes).sum();
    let (mut done, mut files, mut ended) = (0, Vec::new(), false);
    for segment in &extent.segments {
        let mut file = Written::create(draft, &format!("journal/{}", segment.name))?;
        let copied = held.copy(segment, &mut |bytes| {
            file.write(bytes)?;
            done += bytes.len() as u64;
            ended =
                watch(CopyProgress { part: CopiedComponent::Journal, done, of }) == ControlFlow::Break(());
            if ended { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        });
        if ended {
            return Err(BackupError::Interrupted);
        }
        copied?;
        files.push(file.finish()?);
    }
    Ok(files)
}

fn copy_file(datadir: &Path, name: &str, draft: &Path) -> Result<ManifestFile, BackupError> {
    let path = datadir.join(name);
    write_file(draft, name, &fs::read(&path).map_err(io_error("read", &path))?)
}

/// Removes the lock file that opening a store creates; it is not part of the store.
pub(crate) fn remove_lock(folder: &Path) -> Result<(), BackupError> {
    let path = folder.join(STORE_LOCK);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
        _ => Ok(()),
    }
}
