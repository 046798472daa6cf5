//! The journal of a data directory without a running node, for `foreseal journal check` and `repair`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    check,
    check::JournalReport,
    error::JournalError,
    lock::{DirLock, LockError},
    real_disk::RealDisk,
    recorded_end,
    recorded_end::RecordedEnd,
    repair::{JournalRepairPlan, plan_acceptance, plan_leading_cut, plan_repair},
};

/// Name of the journal's directory inside the data directory.
const FOLDER: &str = "journal";

/// A journal without a writer; the data directory is locked for the lifetime of this value.
#[derive(Debug)]
pub struct OfflineJournal {
    folder: PathBuf,
    _lock: DirLock,
}

/// Errors of opening a journal offline.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    #[error("{} has no journal", .0.display())]
    Missing(PathBuf),
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Returns the directory of the journal in a data directory.
///
/// # Errors
/// [`OfflineError::Missing`] if the data directory holds no journal.
pub fn journal_folder(data_dir: &Path) -> Result<PathBuf, OfflineError> {
    let folder = data_dir.join(FOLDER);
    if folder.is_dir() { Ok(folder) } else { Err(OfflineError::Missing(data_dir.to_owned())) }
}

impl OfflineJournal {
    /// Locks a data directory that holds a journal. A directory without one stays unchanged.
    pub fn lock(data_dir: &Path) -> Result<Self, OfflineError> {
        let folder = journal_folder(data_dir)?;
        Ok(Self { folder, _lock: DirLock::acquire(data_dir)? })
    }

    /// Returns the directory of the segments.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// See [`recorded_end`].
    pub fn recorded_end(&self) -> Result<Option<RecordedEnd>, JournalError> {
        recorded_end(&self.folder, &RealDisk)
    }

    /// See [`plan_acceptance`].
    pub fn plan_acceptance(&self) -> Result<JournalRepairPlan, JournalError> {
        plan_acceptance(&self.folder, Arc::new(RealDisk))
    }

    /// See [`plan_leading_cut`].
    pub fn plan_leading_cut(&self, applied: u64) -> Result<Option<JournalRepairPlan>, JournalError> {
        plan_leading_cut(&self.folder, Arc::new(RealDisk), applied)
    }

    /// See [`check`].
    pub fn check(&self) -> Result<JournalReport, JournalError> {
        check(&self.folder, Arc::new(RealDisk))
    }

    /// See [`plan_repair`].
    pub fn plan_repair(&self) -> Result<(JournalReport, Option<JournalRepairPlan>), JournalError> {
        plan_repair(&self.folder, Arc::new(RealDisk))
    }
}
