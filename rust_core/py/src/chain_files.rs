//! Import and export of chains, with progress and Ctrl-C.

use std::path::PathBuf;
use std::sync::Arc;

use foreseal_chain::{Progress, Report, Summary};
use foreseal_journal::RealDisk;
use foreseal_node::{NodeError, Settings, export_chain, import_chain};
use pyo3::prelude::*;

use crate::errors::CoreError;
use crate::input::Input;
use crate::log;
use crate::progress::watched;
use crate::settings::PySettings;
use crate::settings_error::SettingsError;

/// Blocks executed or written, blocks that the chain already had, number and 0x hash of its newest sealed
/// block.
type PySummary = (u64, u64, u64, String);

/// Executes every block of the file `path` (RLP blocks, one after the other) on the chain that `settings`
/// names, checks every root and appends the blocks to the journal. `progress` is called as progress(block
/// number, blocks done, bytes read) about ten times a second. Returns (blocks imported, blocks that the chain
/// already had, head's number, head's hash).
///
/// Raises NodeError: kind "block" at the first invalid block, with its number and the difference; earlier
/// blocks stay imported. An exception from `progress`, or Ctrl-C, ends the import after the current block.
#[pyfunction]
pub fn run_import(
    py: Python<'_>,
    settings: Input<'_>,
    path: PathBuf,
    progress: Bound<'_, PyAny>,
) -> PyResult<PySummary> {
    run(py, &settings, progress, |settings, report| import_chain(settings, Arc::new(RealDisk), &path, report))
}

/// Writes the sealed blocks after genesis to the file `path`, as RLP, one after the other. `progress` and the
/// result are the same as for `run_import`.
///
/// Raises NodeError.
#[pyfunction]
pub fn run_export(
    py: Python<'_>,
    settings: Input<'_>,
    path: PathBuf,
    progress: Bound<'_, PyAny>,
) -> PyResult<PySummary> {
    run(py, &settings, progress, |settings, report| export_chain(settings, Arc::new(RealDisk), &path, report))
}

fn run(
    py: Python<'_>,
    settings: &[u8],
    progress: Bound<'_, PyAny>,
    work: impl FnOnce(&Settings, Report<'_>) -> Result<Summary, NodeError> + Send,
) -> PyResult<PySummary> {
    let summary = watched(py, progress, |progress| {
        let settings = PySettings::parse(settings)?;
        log::install(&settings.log).map_err(SettingsError::from)?;
        let mut report =
            |now: Progress| progress.report(false, (now.block, now.done, now.bytes)).is_continue();
        work(&settings.node()?, &mut report).map_err(CoreError::from)
    })?;
    Ok((summary.blocks, summary.known, summary.head, summary.hash.to_string()))
}
