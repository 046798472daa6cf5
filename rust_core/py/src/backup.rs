//! Backups of data directories.

use std::ops::ControlFlow;
use std::path::PathBuf;

use foreseal_backup::{BackupSource, Manifest, back_up, restore};
use foreseal_chain::{
    Clock, SystemClock,
    datadir::{CopiedComponent, CopyProgress},
};
use foreseal_node::StoreSettings;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::CoreError;
use crate::progress::watched;

fn name(part: CopiedComponent) -> &'static str {
    match part {
        CopiedComponent::Store => "store",
        CopiedComponent::Journal => "journal",
    }
}

/// Runs `work`, which calls `progress` about ten times a second as progress(part, bytes so far, total bytes).
fn run<'py>(
    py: Python<'py>,
    progress: Bound<'py, PyAny>,
    work: impl FnOnce(&mut dyn FnMut(CopyProgress) -> ControlFlow<()>) -> Result<Manifest, CoreError> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    let json = watched(py, progress, |progress| {
        let mut before = None;
        let manifest = work(&mut |CopyProgress { part, done, of }| {
            let begins = before.replace(part) != Some(part);
            progress.report(begins || done >= of, (name(part), done, of))
        })?;
        Ok(serde_json::to_vec(&manifest)?)
    })?;
    Ok(PyBytes::new(py, &json))
}

/// Copies the data directory `dir` to the folder `target`, which is new or empty. A node may run on `dir`
/// meanwhile. Returns the backup's manifest as JSON.
///
/// `progress` is called as progress(part, done, of) in bytes. `with_key` also copies the key that signs
/// steps. `map_size` is the maximum size of the store in bytes.
///
/// Raises NodeError: kind "settings" if `target` cannot be used, "genesis" if `dir` holds no chain, "corrupt"
/// if it is damaged, "io" if a file cannot be read or written.
#[pyfunction]
#[pyo3(signature = (dir, target, progress, with_key = false, map_size = None))]
pub fn run_backup<'py>(
    py: Python<'py>,
    dir: PathBuf,
    target: PathBuf,
    progress: Bound<'py, PyAny>,
    with_key: bool,
    map_size: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let map_size = map_size.unwrap_or(StoreSettings::default().map_size);
    run(py, progress, move |watch| {
        let source = BackupSource { datadir: &dir, store: None, map_size, with_key };
        let now = SystemClock::default().now().unix;
        Ok(back_up(&source, &target, now, watch)?)
    })
}

/// Restores the backup in the folder `backup` to the data directory `dir`, which is new or empty. Returns the
/// backup's manifest as JSON. `progress` and `map_size` are the same as for `run_backup`.
///
/// Raises NodeError with the kinds of `run_backup`.
#[pyfunction]
#[pyo3(signature = (backup, dir, progress, map_size = None))]
pub fn run_restore<'py>(
    py: Python<'py>,
    backup: PathBuf,
    dir: PathBuf,
    progress: Bound<'py, PyAny>,
    map_size: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let map_size = map_size.unwrap_or(StoreSettings::default().map_size);
    run(py, progress, move |watch| Ok(restore(&backup, &dir, map_size, watch)?))
}
