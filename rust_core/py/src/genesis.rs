//! A genesis to begin a chain with.

use alloy_primitives::U256;
use foreseal_types::{DEV_GAS_LIMIT, DevGenesis, dev_genesis};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::CoreError;

/// A genesis in geth's format with the newest rules and their system contracts, in which nobody has anything: JSON.
#[pyfunction]
pub fn newest_genesis(py: Python<'_>, chain_id: u64) -> PyResult<Bound<'_, PyBytes>> {
    let genesis = dev_genesis(&DevGenesis {
        chain_id,
        gas_limit: DEV_GAS_LIMIT,
        timestamp: 0,
        accounts: Vec::new(),
        balance: U256::ZERO,
    });
    Ok(PyBytes::new(py, &serde_json::to_vec(&genesis).map_err(CoreError::from)?))
}
