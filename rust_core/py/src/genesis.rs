//! A genesis for a new chain.

use alloy_primitives::U256;
use foreseal_primitives::{DEV_GAS_LIMIT, DevGenesis, dev_genesis};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::CoreError;

/// Returns a genesis in geth's format, as JSON, with the newest fork and its system contracts and no funded
/// accounts.
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
