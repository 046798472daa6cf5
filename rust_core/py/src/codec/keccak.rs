//! keccak-256.

use alloy_primitives::B256;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::input::Input;

/// Input size in bytes above which the GIL is released: at 1.8 ns a byte, hashing then takes about 10 us.
const DETACH_BYTES: usize = 6 * 1024;

/// Returns the keccak-256 hash of `data`: 32 bytes. This is Ethereum's hash, not SHA3-256, whose padding
/// differs.
///
/// Raises TypeError if `data` is neither bytes nor bytearray.
#[pyfunction]
pub fn keccak<'py>(py: Python<'py>, data: Input<'_>) -> Bound<'py, PyBytes> {
    let data: &[u8] = &data;
    let hash = if data.len() > DETACH_BYTES {
        py.detach(|| foreseal_keccak::keccak(data))
    } else {
        foreseal_keccak::keccak(data)
    };
    PyBytes::new(py, hash.as_slice())
}

/// Returns the keccak-256 hash of each of `items`, in order. Hashes several at a time if the processor
/// supports AVX2 or AVX-512.
///
/// Raises TypeError if an item is neither bytes nor bytearray.
#[pyfunction]
pub fn keccak_batch(py: Python<'_>, items: Vec<PyBackedBytes>) -> PyResult<Bound<'_, PyList>> {
    let hashes = py.detach(|| hash_all(&items));
    PyList::new(py, hashes.iter().map(|hash| PyBytes::new(py, hash.as_slice())))
}

/// Returns the hashes of `items`, in order.
pub fn hash_all<B: AsRef<[u8]>>(items: &[B]) -> Vec<B256> {
    let inputs: Vec<&[u8]> = items.iter().map(AsRef::as_ref).collect();
    let mut hashes = vec![B256::ZERO; inputs.len()];
    foreseal_keccak::keccak_batch(&inputs, &mut hashes);
    hashes
}
