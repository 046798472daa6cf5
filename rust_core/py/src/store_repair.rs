//! Repair of the store of a data directory.

use std::path::PathBuf;

use alloy_primitives::B256;
use foreseal_backup::Backup;
use foreseal_chain::datadir::StoreBackup;
use foreseal_node::{
    BlockSource, FetchPlan, RepairMethod, RepairPlan, RepairProgress, RepairSources, SourceChain, StoreRepair,
};
use foreseal_store::VerifyProgress;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::errors::CoreError;
use crate::progress::watched;
use crate::store::{PyFault, name, settings};

#[derive(Serialize)]
struct PyRepair {
    faults: Vec<PyFault>,
    fault_count: u64,
    method: &'static str,
    why: Option<String>,
    fetch: Option<PyFetchPlan>,
    warning: Option<&'static str>,
    repaired: bool,
}

#[derive(Serialize)]
struct PyFetchPlan {
    backup: Option<u64>,
    first: u64,
    last: u64,
    journal_head: u64,
    source_head: u64,
}

impl From<FetchPlan> for PyFetchPlan {
    fn from(plan: FetchPlan) -> Self {
        let FetchPlan { backup, first, last, journal_head, source_head } = plan;
        Self { backup, first, last, journal_head, source_head }
    }
}

impl PyRepair {
    fn new(plan: RepairPlan, repaired: bool) -> Self {
        let (method, why, fetch) = match plan.method {
            RepairMethod::Nothing => ("nothing", None, None),
            RepairMethod::Rewrite => ("rewrite", None, None),
            RepairMethod::MetaPage => ("meta-page", None, None),
            RepairMethod::Backup => ("backup", None, None),
            RepairMethod::Replay => ("replay", None, None),
            RepairMethod::Fetch(fetch) => ("fetch", None, Some(fetch.into())),
            RepairMethod::Impossible(why) => ("impossible", Some(why), None),
        };
        let faults = plan.faults.into_iter().map(PyFault::from).collect();
        Self { faults, fault_count: plan.fault_count, method, why, fetch, warning: plan.warning, repaired }
    }
}

/// A Python object with the methods of [`BlockSource`].
struct PySource {
    object: Py<PyAny>,
    /// Exception that a method raised.
    raised: Option<PyErr>,
}

impl PySource {
    fn call<T>(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, String> {
        Python::attach(|py| call(self.object.bind(py))).map_err(|error| {
            let text = error.to_string();
            self.raised = Some(error);
            text
        })
    }
}

fn hash(bytes: [u8; 32]) -> B256 {
    bytes.into()
}

impl BlockSource for PySource {
    fn chain(&mut self) -> Result<SourceChain, String> {
        let (chain_id, genesis, head) = self.call(|object| object.call_method0("chain")?.extract())?;
        Ok(SourceChain { chain_id, genesis: hash(genesis), head })
    }

    fn hash(&mut self, number: u64) -> Result<Option<B256>, String> {
        let bytes: Option<[u8; 32]> =
            self.call(|object| object.call_method1("hash", (number,))?.extract())?;
        Ok(bytes.map(hash))
    }

    fn block(&mut self, number: u64) -> Result<Vec<u8>, String> {
        self.call(|object| {
            let block = object.call_method1("block", (number,))?;
            Ok(block.cast_into::<PyBytes>()?.as_bytes().to_vec())
        })
    }
}

/// Plans the repair of the store of the data directory `dir`, and applies it with `confirm`.
///
/// The JSON has `faults` and `fault_count` as in `db_verify`; `method`, one of nothing, rewrite, meta-page,
/// backup, replay, fetch and impossible, the last with a `why`; `fetch`, the numbers of the blocks that are
/// fetched; `warning`, text on what the damaged store can no longer prove, or null; `repaired`.
///
/// `backup` is the folder of a backup, `node` another node: `chain()` returns chain id, genesis hash and
/// number of the newest block; `hash(number)` and `block(number)` return bytes. `progress` is called as
/// progress(part, done, of).
///
/// Raises NodeError: kind "in-use" while a node runs on `dir`. An exception from `progress` or `node`, or
/// Ctrl-C, ends the repair.
#[pyfunction]
#[pyo3(signature = (dir, confirm, progress, backup = None, map_size = None, node = None))]
pub fn db_repair<'py>(
    py: Python<'py>,
    dir: PathBuf,
    confirm: bool,
    progress: Bound<'py, PyAny>,
    backup: Option<PathBuf>,
    map_size: Option<usize>,
    node: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut node = node.map(|object| PySource { object: object.unbind(), raised: None });
    let backup = backup.map(|folder| Backup { folder });
    let done = watched(py, progress, |progress| {
        let sources = RepairSources {
            backup: backup.as_ref().map(|backup| backup as &dyn StoreBackup),
            node: node.as_mut().map(|node| node as &mut dyn BlockSource),
        };
        let mut repair = StoreRepair::lock(&dir, &settings(map_size), sources)?;
        let mut before = None;
        let mut watch = |step: RepairProgress| {
            let (part, done, of) = match step {
                RepairProgress::Verifying(VerifyProgress { part, done, of }) => (name(part), done, of),
                RepairProgress::Rewriting { done, of } => ("copy", done, of),
                RepairProgress::Restoring(copied) => ("backup", copied.done, copied.of),
                RepairProgress::Fetching { done, of } => ("blocks", done, of),
                RepairProgress::Replaying { records } => ("journal", records, records),
            };
            progress.report(before.replace(part) != Some(part), (part, done, of))
        };
        let plan = repair.plan(&mut watch)?;
        let repaired = confirm && plan.fault_count > 0;
        if repaired {
            repair.apply(&plan.method, &mut watch)?;
        }
        Ok::<_, CoreError>(serde_json::to_vec(&PyRepair::new(plan, repaired))?)
    });
    if let Some(raised) = node.and_then(|node| node.raised) {
        return Err(raised);
    }
    Ok(PyBytes::new(py, &done?))
}
