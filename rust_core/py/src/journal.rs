//! Looking at and repairing the journal of a data directory.

use std::path::PathBuf;

use foreseal_journal::{Loss, OfflineJournal, Report};
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
    repaired: bool,
}

/// Says what a repair of the journal of the data directory `dir` gives up, and with `confirm` cuts it where the
/// damage begins. JSON: `report`, what `journal_check` says; `loss`, null if nothing is to be repaired; `repaired`.
///
/// Raises NodeError as `journal_check` does.
#[pyfunction]
pub fn journal_repair(py: Python<'_>, dir: PathBuf, confirm: bool) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| -> Result<_, CoreError> {
        let journal = OfflineJournal::lock(&dir)?;
        let (report, repair) = journal.plan_repair()?;
        let loss = repair.as_ref().map(|repair| repair.loss().clone());
        let repair = repair.filter(|_| confirm);
        let repaired = repair.is_some();
        if let Some(repair) = repair {
            repair.apply()?;
        }
        Ok(serde_json::to_vec(&Answer { report, loss, repaired })?)
    })?;
    Ok(PyBytes::new(py, &json))
}
