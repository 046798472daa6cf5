//! Check of the quorum store of a quorum journal, and recovery of one that lost its data.

use std::path::{Path, PathBuf};

use foreseal_chain::{Clock, SystemClock};
use foreseal_journal::{Identity, OfflineJournal};
use foreseal_quorum::{
    AppendSource, ImportError, ImportMode, JournalExport, JournalTail, QuorumKeys, QuorumLog,
    check_quorum_store, import_journal, write_export,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::cluster_target::PyClusterTarget;
use crate::errors::CoreError;
use crate::input::Input;
use crate::quorum_json::report_json;

/// Checks the quorum store of a quorum journal and measures 100 appends. `options` is a JSON object with `journal` as
/// in the settings of `Node`. Returns JSON: members, endpoints, hashes, `appends` in ms, `databaseBytes`, and
/// `findings`, of which those with `rejected` prevent the start of a node.
///
/// Raises NodeError: kind "settings" if the options are invalid, "quorum" if no majority answers.
#[pyfunction]
pub fn journal_check_engine<'py>(py: Python<'py>, options: Input<'_>) -> PyResult<Bound<'py, PyBytes>> {
    let options: &[u8] = &options;
    let json = py.detach(|| -> Result<_, CoreError> {
        let target = PyClusterTarget::parse(options)?;
        let (quorum, prefix) = target.connect()?;
        // A measurement writes below the prefix, where the user of etcd has permission, but to no chain.
        let keys = QuorumKeys::new(&prefix, &Identity { chain_id: 0, genesis: alloy_primitives::B256::ZERO });
        let clock = SystemClock::default();
        let report = check_quorum_store(&*quorum, &keys, &|| clock.monotonic()).map_err(ImportError::from)?;
        Ok(serde_json::to_vec(&report_json(&report, target.mode()))?)
    })?;
    Ok(PyBytes::new(py, &json))
}

/// Writes the newest appends of the journal in the data directory `dir` to the new file `file`. Returns JSON:
/// `chainId`, `genesis`, `first`, `next`, and the number `written`.
///
/// Raises NodeError: kind "in-use" while a node runs on `dir`, "journal" if it has no journal, "corrupt" if that is
/// damaged, "io" if the file exists or cannot be written.
#[pyfunction]
pub fn journal_export(py: Python<'_>, dir: PathBuf, file: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| -> Result<_, CoreError> {
        let journal = OfflineJournal::lock(&dir)?;
        let tail = JournalTail::open(&journal).map_err(ImportError::from)?;
        let written = write_export(&tail, &file).map_err(ImportError::from)?;
        let Identity { chain_id, genesis } = tail.identity();
        let (first, next) = (tail.first(), tail.next());
        let answer = json!({
            "chainId": chain_id, "genesis": genesis, "first": first, "next": next, "written": written,
        });
        Ok(serde_json::to_vec(&answer)?)
    })?;
    Ok(PyBytes::new(py, &json))
}

/// Writes the newest appends of a journal into a quorum store, then its head, and no owner. `source` is a data
/// directory or a file of `journal_export`; `options` is a JSON object with `journal` as in the settings of `Node`.
/// With `resume`, a quorum store that has a part of these appends gets the rest. Without `confirm` nothing is written.
///
/// Returns JSON: `chainId`, `genesis`, `first` and `next` of the source; `report` with the number `written`, the
/// number of the `first` of them and the new `head`, or null without `confirm`.
///
/// Raises NodeError: kind "settings" if the options are invalid, "in-use" while a node runs on the data directory,
/// "journal" and "corrupt" for a missing or damaged source, "quorum" if the quorum store does not answer, "refused" if
/// it has other appends.
#[pyfunction]
pub fn journal_import<'py>(
    py: Python<'py>,
    source: PathBuf,
    options: Input<'_>,
    resume: bool,
    confirm: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let options: &[u8] = &options;
    let json = py.detach(|| -> Result<_, CoreError> {
        let target = PyClusterTarget::parse(options)?;
        let mode = if resume { ImportMode::Continue } else { ImportMode::OnlyEmpty };
        with_source(&source, |source| {
            let Identity { chain_id, genesis } = source.identity();
            let mut answer = json!({
                "chainId": chain_id, "genesis": genesis, "first": source.first(), "next": source.next(), "report": null,
            });
            if confirm {
                let (quorum, prefix) = target.connect()?;
                let log = QuorumLog::new(quorum, QuorumKeys::new(&prefix, &source.identity()));
                let report = import_journal(&log, source, mode)?;
                let head = report.head;
                answer["report"] = json!({
                    "written": report.written,
                    "first": report.first,
                    "head": { "sequence": head.sequence, "block": head.block, "index": head.index },
                });
            }
            Ok(serde_json::to_vec(&answer)?)
        })
    })?;
    Ok(PyBytes::new(py, &json))
}

/// Passes the appends of a data directory or of an export to `work`. A data directory is locked meanwhile.
fn with_source<T>(
    path: &Path,
    work: impl FnOnce(&dyn AppendSource) -> Result<T, CoreError>,
) -> Result<T, CoreError> {
    if path.is_dir() {
        let journal = OfflineJournal::lock(path)?;
        let tail = JournalTail::open(&journal).map_err(ImportError::from)?;
        return work(&tail);
    }
    let export = JournalExport::open(path).map_err(ImportError::from)?;
    work(&export)
}
