//! ECDSA signatures on secp256k1, and addresses with checksum.

use alloy_consensus::crypto::secp256k1::{recover_signer, sign_message};
use alloy_primitives::{Address, B256, Signature, U256};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Bytes of r, s and v.
const SIGNATURE_SIZE: usize = 65;
/// Value of v for an even y coordinate.
const EVEN: u8 = 27;

/// Returns the address, with its EIP-55 checksum, that signed each of `digests` (32 bytes each), or None for a
/// signature that no key of the expected form made: a length other than 65 bytes, a v other than 27 and 28, or
/// an s in the upper half of the curve's order (EIP-2).
///
/// Raises ValueError if the lists differ in length, and TypeError or ValueError for an item that is not 32
/// bytes.
#[pyfunction]
pub fn recover_addresses(
    py: Python<'_>,
    digests: Vec<[u8; 32]>,
    signatures: Vec<PyBackedBytes>,
) -> PyResult<Vec<Option<String>>> {
    if digests.len() != signatures.len() {
        let (have, need) = (signatures.len(), digests.len());
        return Err(PyValueError::new_err(format!("signatures: {have} for {need} digests")));
    }
    Ok(py.detach(|| {
        let pairs = digests.iter().zip(&signatures);
        pairs.map(|(digest, signature)| recover(digest, signature).map(|one| one.to_checksum(None))).collect()
    }))
}

/// Signs each of `digests` (32 bytes each) with `key` (32 bytes). Returns r, s and v of each, 65 bytes; v is
/// 27 or 28.
///
/// Raises ValueError if the key is not a private key of the curve.
#[pyfunction]
pub fn sign_digests(
    py: Python<'_>,
    key: [u8; 32],
    digests: Vec<[u8; 32]>,
) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    let signed: Option<Vec<[u8; SIGNATURE_SIZE]>> = py.detach(|| {
        digests
            .iter()
            .map(|digest| sign_message(B256::from(key), B256::from(digest)).ok().map(|one| one.as_bytes()))
            .collect()
    });
    let signed = signed.ok_or_else(|| PyValueError::new_err("key: not a private key of secp256k1"))?;
    Ok(signed.iter().map(|one| PyBytes::new(py, one)).collect())
}

/// Returns the address (20 bytes) as text with its EIP-55 checksum.
#[pyfunction]
pub fn checksum_address(address: [u8; 20]) -> String {
    Address::from(address).to_checksum(None)
}

fn recover(digest: &[u8; 32], signature: &[u8]) -> Option<Address> {
    let signature: &[u8; SIGNATURE_SIZE] = signature.try_into().ok()?;
    let odd = match signature[64].checked_sub(EVEN)? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let (r, s) = (U256::from_be_slice(&signature[..32]), U256::from_be_slice(&signature[32..64]));
    // `recover_signer` rejects an s in the upper half.
    recover_signer(&Signature::new(r, s, odd), B256::from(digest)).ok()
}
