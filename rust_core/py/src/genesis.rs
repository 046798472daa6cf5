//! A genesis for a new chain, and the hash of one.

use alloy_primitives::U256;
use foreseal_primitives::{ChainSpec, DEV_GAS_LIMIT, DevGenesis, GenesisError, dev_genesis, parse_genesis};
use pyo3::exceptions::PyValueError;
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

/// Returns the hash of the genesis block of a genesis in geth's format, as JSON.
///
/// # Errors
/// Raises `ValueError` if no chain can have this genesis.
#[pyfunction]
pub fn genesis_hash(py: Python<'_>, json: &str) -> PyResult<String> {
    let hash = || Ok(foreseal_chain::datadir::genesis_hash(&ChainSpec::new(parse_genesis(json)?)?));
    let hash = py.detach(hash).map_err(|error: GenesisError| PyValueError::new_err(error.to_string()))?;
    Ok(hash.to_string())
}
