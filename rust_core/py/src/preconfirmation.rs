//! Offline verification of pre-confirmation receipts.

use alloy_primitives::{Address, B256};
use foreseal_primitives::{CommitmentDomain, FlashblockCommitment, StepSignature};
use foreseal_rpc::{InvalidReceipt, InvalidReceiptError, PreconfirmationReceipt, contradiction};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{CoreError, preconfirmation_error};
use crate::input::Input;

/// Checks a receipt, the JSON object that `foreseal_preconfirmation` returns, for consistency, and against
/// `signer` (20 bytes) and `chain_id` if they are given. Returns the commitment that it proves, as JSON.
///
/// Raises PreconfirmationError, which names the field that does not match.
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

/// Compares two receipts. Returns evidence that their signer broke a commitment, as JSON, or null.
///
/// Raises PreconfirmationError for a receipt that is invalid by itself; `which` is its position.
#[pyfunction]
pub fn preconfirmation_contradiction<'py>(
    py: Python<'py>,
    one: Input<'_>,
    other: Input<'_>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (one, other): (&[u8], &[u8]) = (&one, &other);
    let contradiction = py.detach(|| -> Result<_, (usize, InvalidReceiptError)> {
        let one = PreconfirmationReceipt::parse(one).map_err(|error| (0, error))?;
        let other = PreconfirmationReceipt::parse(other).map_err(|error| (1, error))?;
        contradiction(&one, &other)
    });
    let contradiction = contradiction.map_err(|(which, error)| preconfirmation_error(&error, Some(which)))?;
    let json = serde_json::to_vec(&contradiction).map_err(CoreError::from)?;
    Ok(PyBytes::new(py, &json))
}

/// Recovers the address that signed a step. `promise` is its number, index, hash, hash of the step before (32
/// bytes each) and time in milliseconds; `signature` has 65 bytes. Returns an unrelated address if these are
/// not the signed values.
///
/// Raises PreconfirmationError for bytes that are no signature, and ValueError for a hash of another length.
#[pyfunction]
pub fn step_signer<'py>(
    py: Python<'py>,
    chain_id: u64,
    promise: (u64, u64, Input<'_>, Input<'_>, u64),
    signature: Input<'_>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (number, index, hash, previous, time) = promise;
    let word = |name: &str, bytes: &[u8]| {
        B256::try_from(bytes).map_err(|_| PyValueError::new_err(format!("{name}: a hash has 32 bytes")))
    };
    let (hash, previous) = (word("hash", &hash)?, word("previous", &previous)?);
    let promise = FlashblockCommitment { number, index, hash, previous, time };
    let signature = StepSignature::try_from(&*signature).ok();
    let signer = signature.and_then(|signature| promise.signer(CommitmentDomain::new(chain_id), &signature));
    let none = || InvalidReceiptError {
        field: InvalidReceipt::Signature,
        why: "it is not a valid signature".to_owned(),
    };
    let signer = signer.ok_or_else(|| preconfirmation_error(&none(), None))?;
    Ok(PyBytes::new(py, signer.as_slice()))
}
