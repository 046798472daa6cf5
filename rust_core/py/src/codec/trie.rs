//! Merkle-Patricia tries (yellow paper, appendix D).

use alloy_primitives::{B256, Bytes};
use foreseal_trie::{ByteTrie, KeyTooLong, MAX_KEY_BYTES};
use parking_lot::Mutex;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::input::{Input, Pairs};

/// Returns the root of the trie over (key, value) `pairs`, in any order: 32 bytes. The last of equal keys
/// counts; an empty value means no entry. Keys are used without hashing: hash them first for a state trie.
///
/// Raises TypeError if `pairs` is no iterable of pairs of bytes, ValueError if a key has more than 255 bytes.
#[pyfunction]
pub fn trie_root(py: Python<'_>, pairs: Pairs) -> PyResult<Bound<'_, PyBytes>> {
    let root =
        py.detach(|| foreseal_trie::trie_root(pairs.0.iter().map(|(key, value)| (key, copied(value)))));
    Ok(hash(py, root.map_err(|error| PyValueError::new_err(format!("pairs: {error}")))?))
}

/// Returns the root of the trie over a list, whose keys are the RLP of the positions (transactionsRoot,
/// receiptsRoot, withdrawalsRoot): 32 bytes. An item is the value of the leaf: for a transaction or receipt
/// its EIP-2718 bytes.
///
/// Raises TypeError if `items` is no sequence of bytes.
#[pyfunction]
pub fn ordered_trie_root(py: Python<'_>, items: Vec<PyBackedBytes>) -> Bound<'_, PyBytes> {
    hash(py, py.detach(|| foreseal_trie::ordered_trie_root(items.iter().map(copied))))
}

/// Returns `ordered_trie_root` of each of `lists`, in order.
///
/// Raises the exceptions of `ordered_trie_root`.
#[pyfunction]
pub fn ordered_trie_root_batch(
    py: Python<'_>,
    lists: Vec<Vec<PyBackedBytes>>,
) -> PyResult<Bound<'_, PyList>> {
    let roots: Vec<B256> = py.detach(|| {
        lists.iter().map(|items| foreseal_trie::ordered_trie_root(items.iter().map(copied))).collect()
    });
    PyList::new(py, roots.into_iter().map(|root| hash(py, root)))
}

/// Returns the value that `proof` proves under `key` in the trie with `root`; None if it proves that there is
/// none. `proof` holds the RLP of the nodes from the root towards the key, in the format of `Trie.prove`
/// (EIP-1186).
///
/// Raises ValueError if `root` is not 32 bytes, or `proof` does not lead from it to a value or its absence.
#[pyfunction]
pub fn verify_proof<'py>(
    py: Python<'py>,
    root: Input<'_>,
    key: Input<'_>,
    proof: Vec<PyBackedBytes>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let length = root.len();
    let root = B256::try_from(&root[..])
        .map_err(|_| PyValueError::new_err(format!("root: a hash has 32 bytes, got {length}")))?;
    let value = foreseal_trie::verify_proof(root, &key, &proof)
        .map_err(|error| PyValueError::new_err(format!("proof: {error}")))?;
    Ok(value.map(|value| PyBytes::new(py, &value)))
}

/// A Merkle-Patricia trie from bytes to bytes with the interface of a dict. Changes are collected and hashed
/// together in `root` or `prove`. Keys have at most 255 bytes and are used without hashing; an empty value
/// deletes.
#[pyclass(name = "Trie", module = "foreseal._core", frozen)]
pub struct PyTrie(Mutex<ByteTrie>);

#[pymethods]
impl PyTrie {
    /// Creates a trie with `pairs`, an iterable of (key, value).
    #[new]
    #[pyo3(signature = (pairs = None))]
    fn new(py: Python<'_>, pairs: Option<Pairs>) -> PyResult<Self> {
        let trie = Self(Mutex::default());
        if let Some(pairs) = pairs {
            trie.update(py, pairs)?;
        }
        Ok(trie)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.lock().len())
    }

    fn __contains__(&self, key: Input<'_>) -> bool {
        self.0.lock().get(&key).is_some()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        match self.get(py, key.extract()?) {
            Some(value) => Ok(value),
            None => Err(PyKeyError::new_err(key.unbind())),
        }
    }

    fn __setitem__(&self, key: Input<'_>, value: Input<'_>) -> PyResult<()> {
        let value = Bytes::copy_from_slice(&value);
        self.0.lock().set(&key, value).map_err(|error| PyValueError::new_err(format!("key: {error}")))
    }

    fn __delitem__(&self, key: Bound<'_, PyAny>) -> PyResult<()> {
        let bytes: Input<'_> = key.extract()?;
        let mut trie = self.0.lock();
        if trie.get(&bytes).is_none() {
            drop(trie);
            drop(bytes);
            return Err(PyKeyError::new_err(key.unbind()));
        }
        trie.remove(&bytes);
        Ok(())
    }

    /// Returns the value under `key`, or None.
    fn get<'py>(&self, py: Python<'py>, key: Input<'_>) -> Option<Bound<'py, PyBytes>> {
        self.0.lock().get(&key).map(|value| PyBytes::new(py, value))
    }

    /// Sets each of `pairs`, an iterable of (key, value); an empty value deletes. Sets all pairs or none.
    ///
    /// Raises ValueError if a key has more than 255 bytes.
    fn update(&self, py: Python<'_>, pairs: Pairs) -> PyResult<()> {
        if let Some(index) = pairs.0.iter().position(|(key, _)| key.len() > MAX_KEY_BYTES) {
            let length = pairs.0[index].0.len();
            return Err(PyValueError::new_err(format!("pairs[{index}]: {}", KeyTooLong { length })));
        }
        let set_all = || {
            let mut trie = self.0.lock();
            pairs.0.iter().try_for_each(|(key, value)| trie.set(key, copied(value)))
        };
        py.detach(set_all).map_err(|error| PyValueError::new_err(format!("pairs: {error}")))
    }

    /// Returns the root hash: 32 bytes.
    fn root<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        hash(py, py.detach(|| self.0.lock().root()))
    }

    /// Returns the RLP of the nodes from the root towards `key`: a proof of its value, or of its absence
    /// (EIP-1186). Nodes shorter than 32 bytes are embedded in their parent.
    fn prove<'py>(&self, py: Python<'py>, key: Input<'_>) -> PyResult<Bound<'py, PyList>> {
        let key: &[u8] = &key;
        let proof = py.detach(|| self.0.lock().prove(key));
        PyList::new(py, proof.iter().map(|node| PyBytes::new(py, node)))
    }

    /// Returns an independent trie with the same content. Nodes are shared: the copy costs only the changes
    /// that are not hashed yet.
    fn copy(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

fn hash(py: Python<'_>, root: B256) -> Bound<'_, PyBytes> {
    PyBytes::new(py, root.as_slice())
}

fn copied(bytes: &PyBackedBytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
