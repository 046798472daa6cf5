//! Receipts of pre-confirmations, checked without a node.

use alloy_primitives::Address;
use foreseal_rpc::{MisfitError, PreconfirmationReceipt, contradiction};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{CoreError, preconfirmation_error};
use crate::input::Input;

/// Checks a receipt, the JSON object that `foreseal_preconfirmation` answers, against itself, and against `signer` (20 bytes) and
/// `chain_id` if they are given. JSON: what it shows.
///
/// Raises PreconfirmationError, which names what does not fit.
#[pyfunction]
#[pyo3(signature = (receipt, signer = None, chain_id = None))]
pub fn verify_preconfirmation<'py>(
    py: Python<'py>,
    receipt: Input<'_>,
    signer: Option<Input<'_>>,
    chain_id: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let address = |bytes: &Input<'_>| {
        Address::try_from(&**bytes).map_err(|_| PyValueError::new_err("signer: an address has 20 bytes"))
    };
    let signer = signer.as_ref().map(address).transpose()?;
    let receipt: &[u8] = &receipt;
    let verified = py.detach(|| PreconfirmationReceipt::parse(receipt)?.verify(signer, chain_id));
    let verified = verified.map_err(|error| preconfirmation_error(&error, None))?;
    let json = serde_json::to_vec(&verified).map_err(CoreError::from)?;
    Ok(PyBytes::new(py, &json))
}

/// Whether two receipts show that their signer broke its word. JSON: the evidence, or null.
///
/// Raises PreconfirmationError for one that shows nothing by itself; `which` is its position.
#[pyfunction]
pub fn preconfirmation_contradiction<'py>(
    py: Python<'py>,
    one: Input<'_>,
    other: Input<'_>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (one, other): (&[u8], &[u8]) = (&one, &other);
    let found = py.detach(|| -> Result<_, (usize, MisfitError)> {
        let one = PreconfirmationReceipt::parse(one).map_err(|error| (0, error))?;
        let other = PreconfirmationReceipt::parse(other).map_err(|error| (1, error))?;
        contradiction(&one, &other)
    });
    let found = found.map_err(|(which, error)| preconfirmation_error(&error, Some(which)))?;
    let json = serde_json::to_vec(&found).map_err(CoreError::from)?;
    Ok(PyBytes::new(py, &json))
}
