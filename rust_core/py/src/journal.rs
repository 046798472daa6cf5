//! Looking at and repairing the journal of a data directory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use foreseal_journal::{Disk, Loss, OfflineJournal, RealDisk, Report, journal_folder, show};
use foreseal_node::{ChainLoss, JournalRepair};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::errors::CoreError;

/// Reads and decodes the whole journal of the data directory `dir`, changing nothing. JSON: what it holds;
/// `fault` is null unless it is damaged so that a node refuses to start.
///
/// Raises NodeError: kind "in-use" while a node runs on `dir`, "journal" if there is none, "io" if it cannot be read.
#[pyfunction]
pub fn journal_check(py: Python<'_>, dir: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| -> Result<_, CoreError> {
        let report = OfflineJournal::lock(&dir)?.check()?;
        Ok(serde_json::to_vec(&report)?)
    })?;
    Ok(PyBytes::new(py, &json))
}

/// What a repair found, and perhaps did.
#[derive(Serialize)]
struct Answer {
    report: Report,
    loss: Option<Loss>,
    chain: Option<ChainLoss>,
    summary: Option<String>,
    repaired: bool,
}

/// Says what a repair of the journal of the data directory `dir` gives up, and with `confirm` cuts it where the
/// damage begins and records that the loss is accepted. JSON: `report`, what `journal_check` says; `loss`, null if nothing
/// is to be repaired; `chain`, what store and recorded end show of the loss, or null, and `summary`, the same for people;
/// `repaired`.
///
/// Raises NodeError as `journal_check` does.
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

/// Gives `sink` the journal of the data directory `dir` from append number `start` on, one JSON object an append: `sequence` and
/// `records`, each with its `kind` and what it says in short. Changes nothing; a node may run on `dir` meanwhile.
///
/// Raises NodeError: kind "journal" if there is none, "corrupt" where it is damaged, "io" if it cannot be read; and whatever
/// `sink` raises, which ends it.
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
