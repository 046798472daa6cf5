//! keccak-256.

use alloy_primitives::B256;
use foreseal_types as types;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::input::Input;

/// Longer inputs are hashed without the GIL: at 1.8 ns a byte this is about 10 us.
const DETACH_BYTES: usize = 6 * 1024;

/// keccak-256 of `data`: 32 bytes. This is Ethereum's hash, not SHA3-256, which pads otherwise.
///
/// Raises TypeError if `data` is neither bytes nor bytearray.
#[pyfunction]
pub fn keccak<'py>(py: Python<'py>, data: Input<'_>) -> Bound<'py, PyBytes> {
    let data: &[u8] = &data;
    let hash =
        if data.len() > DETACH_BYTES { py.detach(|| types::keccak(data)) } else { types::keccak(data) };
    PyBytes::new(py, hash.as_slice())
}

/// keccak-256 of each of `items`, in their order; several at a time where the processor can (AVX2, AVX-512).
///
/// Raises TypeError if an item is neither bytes nor bytearray.
#[pyfunction]
pub fn keccak_batch(py: Python<'_>, items: Vec<PyBackedBytes>) -> PyResult<Bound<'_, PyList>> {
    let hashes = py.detach(|| hash_all(&items));
    PyList::new(py, hashes.iter().map(|hash| PyBytes::new(py, hash.as_slice())))
}

/// Hashes of `items`, in their order.
pub fn hash_all<B: AsRef<[u8]>>(items: &[B]) -> Vec<B256> {
    let inputs: Vec<&[u8]> = items.iter().map(AsRef::as_ref).collect();
    let mut hashes = vec![B256::ZERO; inputs.len()];
    types::keccak_batch(&inputs, &mut hashes);
    hashes
}
