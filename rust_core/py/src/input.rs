//! Conversion of Python arguments to bytes.

use std::borrow::Cow;
use std::ops::Deref;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyByteArray;

/// A `bytes` or `bytearray` argument. `bytes` is borrowed, because it cannot change; a `bytearray` is copied.
/// Other types are rejected: pyo3's own `Cow<[u8]>` would also accept a list of integers.
pub struct Input<'a>(Cow<'a, [u8]>);

impl Deref for Input<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Input<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.extract::<&[u8]>() {
            return Ok(Self(Cow::Borrowed(bytes)));
        }
        let Ok(bytes) = object.cast::<PyByteArray>() else {
            let kind = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected bytes or bytearray, got {kind}")));
        };
        Ok(Self(Cow::Owned(bytes.to_vec())))
    }
}

/// An iterable of (key, value) pairs: a list, `dict.items()`, a generator.
pub struct Pairs(pub Vec<(PyBackedBytes, PyBackedBytes)>);

impl<'py> FromPyObject<'_, 'py> for Pairs {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.try_iter()?.map(|pair| pair?.extract()).collect::<PyResult<_>>()?))
    }
}
