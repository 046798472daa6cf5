//! Inspection and repair of the journal of a data directory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use foreseal_journal::{Disk, JournalReport, LostRecords, OfflineJournal, RealDisk, journal_folder, show};
use foreseal_node::{ChainLoss, JournalRepair};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::errors::CoreError;

/// Reads and decodes the whole journal of the data directory `dir` without changing it. Returns its contents
/// as JSON; `fault` is null unless damage would prevent a node from starting.
///
/// Raises NodeError: kind "in-use" while a node runs on `dir`, "journal" if there is none, "io" if it cannot
/// be read.
#[pyfunction]
pub fn journal_check(py: Python<'_>, dir: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| -> Result<_, CoreError> {
        let report = OfflineJournal::lock(&dir)?.check()?;
        Ok(serde_json::to_vec(&report)?)
    })?;
    Ok(PyBytes::new(py, &json))
}

/// Findings of a repair, and `repaired`: true if it was applied.
#[derive(Serialize)]
struct Answer {
    report: JournalReport,
    loss: Option<LostRecords>,
    chain: Option<ChainLoss>,
    summary: Option<String>,
    repaired: bool,
}

/// Plans a repair of the journal of the data directory `dir`. With `confirm` it cuts the journal where the
/// damage begins and records that the loss is accepted.
///
/// Returns JSON: `report`, the result of `journal_check`; `loss`, the lost data, or null if no repair is
/// needed; `chain`, the loss as far as the store and the recorded end prove it, or null; `summary`, the same
/// as text; `repaired`.
///
/// Raises NodeError with the kinds of `journal_check`.
#[pyfunction]
pub fn journal_repair(py: Python<'_>, dir: PathBuf, confirm: bool) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| -> Result<_, CoreError> {
        let repair = JournalRepair::plan(&dir)?;
        let (report, loss) = (repair.report().clone(), repair.loss().cloned());
        let chain = repair.chain().cloned();
        let summary = chain.as_ref().map(ToString::to_string);
        let repaired = confirm && loss.is_some();
        if repaired {
            repair.apply()?;
        }
        Ok(serde_json::to_vec(&Answer { report, loss, chain, summary, repaired })?)
    })?;
    Ok(PyBytes::new(py, &json))
}

/// Passes the journal of the data directory `dir` from append number `start` on to `sink`, one JSON object an
/// append: `sequence` and `records`, each with its `kind` and a summary. Changes nothing; a node may run on
/// `dir` meanwhile.
///
/// Raises NodeError: kind "journal" if there is none, "corrupt" where it is damaged, "io" if it cannot be
/// read. An exception from `sink` ends the listing and is raised.
#[pyfunction]
#[pyo3(signature = (dir, sink, start = 0))]
pub fn journal_show(py: Python<'_>, dir: PathBuf, sink: Py<PyAny>, start: u64) -> PyResult<()> {
    let mut stopped = Ok(());
    py.detach(|| -> Result<_, CoreError> {
        let folder = journal_folder(&dir)?;
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let mut failed = Ok(());
        show(&folder, &disk, start, &mut |append| {
            let line = match serde_json::to_vec(&append) {
                Ok(line) => line,
                Err(error) => {
                    failed = Err(error);
                    return ControlFlow::Break(());
                }
            };
            stopped = Python::attach(|py| {
                py.check_signals()?;
                sink.call1(py, (PyBytes::new(py, &line),)).map(drop)
            });
            if stopped.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(failed?)
    })?;
    stopped
}
