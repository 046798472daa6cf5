//! Inspection of the store of a data directory.

use std::path::{Path, PathBuf};

use foreseal_chain::{Clock, SystemClock};
use foreseal_node::{StoreSettings, open_store_to_read};
use foreseal_store::{
    Fault, SCHEMA, Stats, Store, StoreOrigin, StorePart, StoredHead, TableStats, VerifyProgress, VerifyReport,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::errors::CoreError;
use crate::progress::watched;

pub fn settings(map_size: Option<usize>) -> StoreSettings {
    let default = StoreSettings::default();
    let at = SystemClock::default().now().unix.as_secs();
    StoreSettings { map_size: map_size.unwrap_or(default.map_size), at, ..default }
}

fn open(dir: &Path, map_size: Option<usize>) -> Result<Store, CoreError> {
    Ok(open_store_to_read(dir, &settings(map_size))?)
}

#[derive(Serialize)]
struct PyHead {
    number: u64,
    hash: String,
}

impl From<StoredHead> for PyHead {
    fn from(head: StoredHead) -> Self {
        Self { number: head.number, hash: head.hash.to_string() }
    }
}

#[derive(Serialize)]
struct PyTable {
    name: &'static str,
    entries: u64,
    pages: u64,
    bytes: u64,
    depth: u32,
}

impl From<TableStats> for PyTable {
    fn from(table: TableStats) -> Self {
        let TableStats { name, entries, pages, bytes, depth } = table;
        Self { name, entries, pages, bytes, depth }
    }
}

/// A program that made the store.
#[derive(Serialize)]
struct PyOrigin {
    schema: u32,
    program: String,
    time: u64,
}

impl From<StoreOrigin> for PyOrigin {
    fn from(origin: StoreOrigin) -> Self {
        let StoreOrigin { schema, program, at } = origin;
        Self { schema, program, time: at }
    }
}

#[derive(Serialize)]
struct PyStats {
    schema: u32,
    origins: Vec<PyOrigin>,
    chain_id: u64,
    genesis: String,
    head: Option<PyHead>,
    journal_sequence: u64,
    generation: u64,
    logs: u64,
    proofs_from: u64,
    steps_from: u64,
    used: u64,
    file: u64,
    limit: u64,
    tables: Vec<PyTable>,
}

/// Returns statistics of the store of the data directory `dir`. A node may run on `dir` meanwhile. `map_size`
/// is the maximum size of the store in bytes.
///
/// The JSON has `schema`; `origins`, the programs that made it (schema, version of the program, seconds since
/// 1970); `chain_id`, `genesis`; `head` (number and hash, null before genesis
/// is stored); `journal_sequence`, `generation`, `logs`, `proofs_from`, `steps_from`; `used`, `file` and
/// `limit` in bytes; `tables` (name, entries, pages, bytes, depth).
///
/// Raises NodeError: kind "store" if there is none or this version cannot read it, "genesis" if it belongs to
/// another chain, "corrupt" if it is damaged, "io" if it cannot be read.
#[pyfunction]
#[pyo3(signature = (dir, map_size = None))]
pub fn db_stats(py: Python<'_>, dir: PathBuf, map_size: Option<usize>) -> PyResult<Bound<'_, PyBytes>> {
    let json = py.detach(|| -> Result<_, CoreError> {
        let store = open(&dir, map_size)?;
        let Stats { progress, origins, tables, map_used, map_size, file_size, readers: _ } =
            store.stats().map_err(foreseal_node::NodeError::from)?;
        let stats = PyStats {
            schema: SCHEMA,
            origins: origins.into_iter().map(PyOrigin::from).collect(),
            chain_id: store.options().chain_id,
            genesis: store.options().genesis.to_string(),
            head: progress.head.map(PyHead::from),
            journal_sequence: progress.journal_sequence,
            generation: progress.generation,
            logs: progress.logs,
            proofs_from: progress.proofs_from,
            steps_from: progress.steps_from,
            used: map_used,
            file: file_size,
            limit: map_size,
            tables: tables.into_iter().map(PyTable::from).collect(),
        };
        Ok(serde_json::to_vec(&stats)?)
    })?;
    Ok(PyBytes::new(py, &json))
}

#[derive(Serialize)]
pub struct PyFault {
    table: &'static str,
    key: String,
    why: String,
}

impl From<Fault> for PyFault {
    fn from(fault: Fault) -> Self {
        let Fault { table, key, why } = fault;
        Self { table, key: alloy_primitives::hex::encode_prefixed(key), why }
    }
}

#[derive(Serialize)]
struct PyVerified {
    head: Option<PyHead>,
    faults: Vec<PyFault>,
    fault_count: u64,
    transactions: u64,
    logs: u64,
    accounts: u64,
    slots: u64,
    nodes: u64,
}

impl From<VerifyReport> for PyVerified {
    fn from(verified: VerifyReport) -> Self {
        let VerifyReport { head, faults, fault_count, transactions, logs, accounts, slots, nodes } = verified;
        let (head, faults) = (head.map(PyHead::from), faults.into_iter().map(PyFault::from).collect());
        Self { head, faults, fault_count, transactions, logs, accounts, slots, nodes }
    }
}

pub fn name(part: StorePart) -> &'static str {
    match part {
        StorePart::Pages => "pages",
        StorePart::Blocks => "blocks",
        StorePart::Versions => "versions",
        StorePart::StateRoot => "state root",
        StorePart::Nodes => "trie nodes",
        StorePart::Logs => "log index",
    }
}

/// Recomputes all derived data of the store of the data directory `dir` and compares it. A node may run on
/// `dir` meanwhile. `progress` is called as progress(part, done, of), when a part begins and about ten times
/// a second.
///
/// The JSON has `head`; `faults`, the first thousand (table, key, why), and `fault_count`, the number of all;
/// the numbers of `transactions`, `logs`, `accounts`, `slots` and trie `nodes`.
///
/// Raises NodeError with the kinds of `db_stats`, and "io" if a reorg removed blocks during the check. An
/// exception from `progress`, or Ctrl-C, ends the check.
#[pyfunction]
#[pyo3(signature = (dir, progress, map_size = None))]
pub fn db_verify<'py>(
    py: Python<'py>,
    dir: PathBuf,
    progress: Bound<'py, PyAny>,
    map_size: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let json = watched(py, progress, |progress| {
        let store = open(&dir, map_size)?;
        let mut before = None;
        let verified = store.verify(&mut |VerifyProgress { part, done, of }| {
            progress.report(before.replace(part) != Some(part), (name(part), done, of))
        });
        let verified = PyVerified::from(verified.map_err(foreseal_node::NodeError::from)?);
        Ok(serde_json::to_vec(&verified)?)
    })?;
    Ok(PyBytes::new(py, &json))
}
