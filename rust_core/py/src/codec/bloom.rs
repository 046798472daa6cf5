//! The 2048-bit log bloom (yellow paper, section 4.3.1).

use alloy_primitives::{Bloom, BloomInput};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use super::keccak::hash_all;
use crate::input::Input;

/// A log from Python: address and topics.
type PyBloomLog = (PyBackedBytes, Vec<PyBackedBytes>);

/// Returns the bloom of `logs`, 256 bytes. Each log is an (address, topics) pair: 20 bytes and up to four
/// times 32 bytes.
///
/// Raises ValueError if an address or a topic has another length or there are more than four topics,
/// TypeError if `logs` has another shape.
#[pyfunction]
pub fn logs_bloom(py: Python<'_>, logs: Vec<PyBloomLog>) -> PyResult<Bound<'_, PyBytes>> {
    for (index, log) in logs.iter().enumerate() {
        check(log, || format!("logs[{index}]"))?;
    }
    let bloom = py.detach(|| bloom_of(&logs));
    Ok(PyBytes::new(py, bloom.as_slice()))
}

/// Returns the bloom of each list of logs in `lists`, in order: `logs_bloom` for each receipt of a block.
///
/// Raises the exceptions of `logs_bloom`.
#[pyfunction]
pub fn logs_bloom_batch(py: Python<'_>, lists: Vec<Vec<PyBloomLog>>) -> PyResult<Bound<'_, PyList>> {
    for (outer, logs) in lists.iter().enumerate() {
        for (inner, log) in logs.iter().enumerate() {
            check(log, || format!("lists[{outer}][{inner}]"))?;
        }
    }
    let blooms: Vec<Bloom> = py.detach(|| lists.iter().map(|logs| bloom_of(logs)).collect());
    PyList::new(py, blooms.iter().map(|bloom| PyBytes::new(py, bloom.as_slice())))
}

/// Returns `True` if `bloom` (256 bytes) may hold `value`, an address or a topic. `False` is certain; `True`
/// may be a false positive.
///
/// Raises ValueError if `bloom` is not 256 bytes, TypeError if an argument is neither bytes nor bytearray.
#[pyfunction]
pub fn bloom_contains(bloom: Input<'_>, value: Input<'_>) -> PyResult<bool> {
    Ok(holds(parse(&bloom, || "bloom".to_owned())?, &mask(&value)))
}

/// Returns `bloom_contains` of one `value` for each of `blooms`; the value is hashed once.
///
/// Raises the exceptions of `bloom_contains`.
#[pyfunction]
pub fn bloom_contains_batch(blooms: Vec<PyBackedBytes>, value: Input<'_>) -> PyResult<Vec<bool>> {
    let mask = mask(&value);
    let parsed = blooms.iter().enumerate().map(|(i, bloom)| parse(bloom, || format!("blooms[{i}]")));
    parsed.map(|bloom| Ok(holds(bloom?, &mask))).collect()
}

fn check((address, topics): &PyBloomLog, name: impl Fn() -> String) -> PyResult<()> {
    if address.len() != 20 {
        let (name, length) = (name(), address.len());
        return Err(PyValueError::new_err(format!("{name}: address has {length} bytes, not 20")));
    }
    if topics.len() > 4 {
        let (name, count) = (name(), topics.len());
        return Err(PyValueError::new_err(format!("{name}: {count} topics, at most 4")));
    }
    match topics.iter().position(|topic| topic.len() != 32) {
        Some(i) => {
            let (name, length) = (name(), topics[i].len());
            Err(PyValueError::new_err(format!("{name}: topic {i} has {length} bytes, not 32")))
        }
        None => Ok(()),
    }
}

fn bloom_of(logs: &[PyBloomLog]) -> Bloom {
    let values: Vec<&[u8]> = logs
        .iter()
        .flat_map(|(address, topics)| std::iter::once(address).chain(topics))
        .map(AsRef::as_ref)
        .collect();
    let mut bloom = Bloom::ZERO;
    for hash in hash_all(&values) {
        bloom.accrue(BloomInput::Hash(hash));
    }
    bloom
}

fn mask(value: &[u8]) -> Bloom {
    let mut mask = Bloom::ZERO;
    mask.accrue(BloomInput::Hash(foreseal_keccak::keccak(value)));
    mask
}

fn parse(bloom: &[u8], name: impl FnOnce() -> String) -> PyResult<&Bloom> {
    let sized: Result<&[u8; 256], _> = bloom.try_into();
    sized
        .map(Into::into)
        .map_err(|_| PyValueError::new_err(format!("{}: a bloom has 256 bytes, got {}", name(), bloom.len())))
}

fn holds(bloom: &Bloom, mask: &Bloom) -> bool {
    bloom.contains(mask)
}
