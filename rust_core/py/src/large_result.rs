//! Results of many bytes. Over HTTP, the native transport sends them without copying them, the ASGI transport copies
//! them in slices. Other protocols and batches copy them whole.

use std::os::raw::c_int;

use bytes::Bytes;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyTuple};

/// JSON of a large result. The core and Python share its memory.
#[pyclass(name = "LargeResult", module = "foreseal._core", frozen)]
pub struct PyLargeResult(Bytes);

impl PyLargeResult {
    /// Size in bytes from which a result is not copied: to copy it takes the event loop about 1 ms for each MiB.
    pub const MIN_SIZE: usize = 1 << 20;

    /// Returns the answer that has `before` and `after` around a large result.
    pub fn within_parts<'py>(
        py: Python<'py>,
        json: Bytes,
        before: &[u8],
        after: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let answer = PyLargeAnswer {
            before: PyBytes::new(py, before).unbind(),
            result: Py::new(py, Self(json))?,
            after: PyBytes::new(py, after).unbind(),
        };
        Bound::new(py, answer).map(Bound::into_any)
    }

    /// Returns the JSON of a result: `bytes`, or a `LargeResult` for a large one.
    pub fn wrap(py: Python<'_>, json: Bytes) -> PyResult<Bound<'_, PyAny>> {
        if json.len() < Self::MIN_SIZE {
            return Ok(PyBytes::new(py, &json).into_any());
        }
        Bound::new(py, Self(json)).map(Bound::into_any)
    }
}

/// Returns the JSON of a result: bytes or a `LargeResult`.
pub fn result_bytes(result: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(large) = result.cast::<PyLargeResult>() {
        return Ok(large.get().0.clone());
    }
    Ok(Bytes::copy_from_slice(result.cast::<PyBytes>()?.as_bytes()))
}

#[pymethods]
impl PyLargeResult {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns a copy.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0)
    }

    /// # Safety
    ///
    /// Python calls it with a pointer to a view, or with a null pointer.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view"));
        }
        let json = &slf.get().0;
        let length = ffi::Py_ssize_t::try_from(json.len())?;
        // SAFETY: the view holds a reference to `slf`, which owns the memory and never changes it. It is read-only.
        let done = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), json.as_ptr().cast_mut().cast(), length, 1, flags)
        };
        if done == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Answer with a large result. A transport sends its parts without joining them.
#[pyclass(name = "LargeAnswer", module = "foreseal._core", frozen)]
pub struct PyLargeAnswer {
    before: Py<PyBytes>,
    result: Py<PyLargeResult>,
    after: Py<PyBytes>,
}

impl PyLargeAnswer {
    /// Returns `head` and the answer, in buffers.
    pub fn buffers<'py>(&self, head: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyTuple>> {
        let py = head.py();
        let result = PyMemoryView::from(self.result.bind(py).as_any())?;
        PyTuple::new(py, [head.as_any(), self.before.bind(py), result.as_any(), self.after.bind(py)])
    }
}

#[pymethods]
impl PyLargeAnswer {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.before.as_bytes(py).len() + self.result.get().0.len() + self.after.as_bytes(py).len()
    }

    /// Returns the bytes from `start` to `stop`, or to the end.
    fn slice<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> Bound<'py, PyBytes> {
        let buffers = [self.before.as_bytes(py), &self.result.get().0, self.after.as_bytes(py)];
        let stop = stop.min(self.__len__(py));
        let (mut copied, mut begin) = (Vec::with_capacity(stop.saturating_sub(start)), 0);
        for buffer in buffers {
            let [from, to] = [start, stop].map(|at| at.saturating_sub(begin).min(buffer.len()));
            copied.extend_from_slice(buffer.get(from..to).unwrap_or_default());
            begin += buffer.len();
        }
        PyBytes::new(py, &copied)
    }

    /// Returns the parts joined.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let buffers = [self.before.as_bytes(py), &self.result.get().0, self.after.as_bytes(py)];
        PyBytes::new(py, &buffers.concat())
    }
}
