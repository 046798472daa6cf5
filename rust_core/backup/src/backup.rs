//! A backup as the source of a repair.

use std::path::{Path, PathBuf};

use foreseal_chain::datadir::{BackupEnd, BackupFailure, CopyCallback, StoreBackup};
use foreseal_store::StoredHead;

use crate::{manifest::Manifest, restore};

/// The backup in a folder.
#[derive(Clone, Debug)]
pub struct Backup {
    pub folder: PathBuf,
}

impl StoreBackup for Backup {
    fn end(&self) -> Result<BackupEnd, BackupFailure> {
        let Manifest { chain_id, genesis, head, journal_sequence, .. } = Manifest::read(&self.folder)?;
        let head = head.map(|head| StoredHead { number: head.number, hash: head.hash });
        Ok(BackupEnd { chain_id, genesis, head, journal_sequence })
    }

    fn restore(&self, datadir: &Path, map_size: usize, watch: CopyCallback<'_>) -> Result<(), BackupFailure> {
        restore(&self.folder, datadir, map_size, watch)?;
        Ok(())
    }
}
