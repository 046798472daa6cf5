//! The verification of restored files.

use std::{fs, io, path::Path, sync::Arc};

use foreseal_chain::datadir::{genesis_hash, stored_spec};
use foreseal_journal::{Identity, JournalReport, RealDisk, check};
use foreseal_store::{StoreCopy, StoreOptions};

use crate::{
    error::BackupError,
    file_names::{GENESIS, JOURNAL, STORE, STORE_FILE, STORE_LOCK},
    files::io_error,
    manifest::Manifest,
};

/// Verifies the restored files as a start would: the journal is undamaged, and the store belongs to its
/// chain.
pub(crate) fn check_chain(manifest: &Manifest, draft: &Path, map_size: usize) -> Result<(), BackupError> {
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
    let copied = (report.identity, report.first_sequence, report.first_sequence + report.appends);
    let identity = Identity { chain_id: manifest.chain_id, genesis };
    if copied != (Some(identity), manifest.journal_first, manifest.journal_next) {
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
    remove_store_lock(draft)
}

/// Removes the lock file that opening a store creates; it is not part of the store.
fn remove_store_lock(folder: &Path) -> Result<(), BackupError> {
    let path = folder.join(STORE_LOCK);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
        _ => Ok(()),
    }
}
