//! Batched writes: short answers of one iteration of the event loop are written together at its end.
//!
//! A `send` to a sleeping client wakes it, which can take longer than computing an answer; subsequent sends find it
//! awake.

use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::large_result::PyLargeAnswer;

/// Most connections that wait for the end of an iteration, so that the first answer is not delayed by many others.
pub const MAX_BATCH: usize = 16;
/// Size in bytes above which an answer is written at once: writing it costs more than batching saves.
pub const MAX_BATCHED_SIZE: usize = 32 * 1024;

/// Connections of one listener with an answer to write at the end of this iteration of the event loop `loop`.
#[pyclass(name = "WriteBatch", module = "foreseal._core", frozen)]
pub struct PyWriteBatch {
    /// `call_soon` of the event loop.
    call_soon: Py<PyAny>,
    transports: Mutex<Vec<Py<PyBatchedTransport>>>,
    is_alone: AtomicBool,
}

impl PyWriteBatch {
    fn add(batch: &Bound<'_, Self>, transport: Bound<'_, PyBatchedTransport>) -> PyResult<()> {
        let count = {
            let mut transports = batch.get().transports.lock();
            transports.push(transport.unbind());
            transports.len()
        };
        if count == 1 {
            let end = batch.getattr(intern!(batch.py(), "end"))?;
            batch.get().call_soon.call1(batch.py(), (end,))?;
        }
        if count == MAX_BATCH { batch.get().end(batch.py()) } else { Ok(()) }
    }
}

#[pymethods]
impl PyWriteBatch {
    #[new]
    fn new(r#loop: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            call_soon: r#loop.getattr(intern!(r#loop.py(), "call_soon"))?.unbind(),
            transports: Mutex::default(),
            is_alone: AtomicBool::new(true),
        })
    }

    /// True if there is at most one connection: batching then has no benefit.
    #[getter]
    fn alone(&self) -> bool {
        self.is_alone.load(Relaxed)
    }

    #[setter]
    fn set_alone(&self, is_alone: bool) {
        self.is_alone.store(is_alone, Relaxed);
    }

    /// Writes the answers that wait.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let transports = take(&mut *self.transports.lock());
        for transport in transports {
            transport.get().flush(py)?;
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.call_soon)
    }
}

/// Transport of one connection, whose short answers are written with those of `write_batch`. Used on the event loop's
/// thread only.
#[pyclass(name = "BatchedTransport", module = "foreseal._core", frozen)]
pub struct PyBatchedTransport {
    transport: Py<PyAny>,
    /// `write` of the transport.
    write: Py<PyAny>,
    write_batch: Py<PyWriteBatch>,
    /// Answer that is written at the end of the iteration.
    answer: Mutex<Option<Py<PyBytes>>>,
}

impl PyBatchedTransport {
    fn call<'py>(&self, py: Python<'py>, method: &str) -> PyResult<Bound<'py, PyAny>> {
        self.transport.bind(py).call_method0(method)
    }

    /// Writes `answer` at the end of this iteration; later writes follow it.
    pub fn queue(transport: &Bound<'_, Self>, answer: &Bound<'_, PyBytes>) -> PyResult<()> {
        let (py, this) = (transport.py(), transport.get());
        let write_batch = this.write_batch.bind(py);
        if write_batch.get().alone() || answer.as_bytes().len() > MAX_BATCHED_SIZE || this.has_answer() {
            return this.write_now(py, answer);
        }
        *this.answer.lock() = Some(answer.clone().unbind());
        PyWriteBatch::add(write_batch, transport.clone())
    }

    fn has_answer(&self) -> bool {
        self.answer.lock().is_some()
    }

    fn write_now(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.flush(py)?;
        self.write.call1(py, (data,)).map(drop)
    }
}

#[pymethods]
impl PyBatchedTransport {
    #[new]
    fn new(transport: &Bound<'_, PyAny>, write_batch: Py<PyWriteBatch>) -> PyResult<Self> {
        Ok(Self {
            transport: transport.clone().unbind(),
            write: transport.getattr(intern!(transport.py(), "write"))?.unbind(),
            write_batch,
            answer: Mutex::default(),
        })
    }

    /// Writes an answer at the end of this iteration; later writes follow it.
    fn write_soon(slf: &Bound<'_, Self>, answer: &Bound<'_, PyBytes>) -> PyResult<()> {
        Self::queue(slf, answer)
    }

    /// Writes at once.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write_now(py, data)
    }

    /// Writes a response, `soon` at the end of this iteration. A long body, `bytes` or a `LargeAnswer`, is not copied.
    #[pyo3(signature = (head, body, *, soon=false))]
    fn write_response(
        slf: &Bound<'_, Self>,
        head: &Bound<'_, PyBytes>,
        body: &Bound<'_, PyAny>,
        soon: bool,
    ) -> PyResult<()> {
        let py = slf.py();
        if let Ok(answer) = body.cast::<PyLargeAnswer>() {
            return slf.get().writelines(py, answer.get().buffers(head)?.as_any());
        }
        let body = body.cast::<PyBytes>()?;
        if body.as_bytes().len() > MAX_BATCHED_SIZE {
            return slf.get().writelines(py, PyTuple::new(py, [head, body])?.as_any());
        }
        let response = [head.as_bytes(), body.as_bytes()].concat();
        let response = PyBytes::new(py, &response);
        if soon { Self::queue(slf, &response) } else { slf.get().write_now(py, &response) }
    }

    /// Writes at once, without joining the chunks.
    fn writelines(&self, py: Python<'_>, chunks: &Bound<'_, PyAny>) -> PyResult<()> {
        self.flush(py)?;
        self.transport.bind(py).call_method1(intern!(py, "writelines"), (chunks,)).map(drop)
    }

    /// Writes the answer that waits for the end of the iteration.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let answer = self.answer.lock().take();
        if let Some(answer) = answer
            && !self.is_closing(py)?
        {
            self.write.call1(py, (answer,))?;
        }
        Ok(())
    }

    /// Half-closes the connection after all is written.
    fn write_eof(&self, py: Python<'_>) -> PyResult<()> {
        self.flush(py)?;
        self.call(py, "write_eof").map(drop)
    }

    /// Closes the connection after all is written.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.flush(py)?;
        self.call(py, "close").map(drop)
    }

    /// Closes the connection now and drops unwritten data.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.answer.lock().take();
        self.call(py, "abort").map(drop)
    }

    /// Returns `True` if the connection is closed or about to be.
    fn is_closing(&self, py: Python<'_>) -> PyResult<bool> {
        self.transport.bind(py).call_method0(intern!(py, "is_closing"))?.is_truthy()
    }

    /// Returns `True` if the connection can be half-closed.
    fn can_write_eof(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, "can_write_eof")?.is_truthy()
    }

    /// Returns the number of bytes that wait for the client.
    fn get_write_buffer_size(&self, py: Python<'_>) -> PyResult<usize> {
        self.call(py, "get_write_buffer_size")?.extract()
    }

    /// Stops reading.
    fn pause_reading(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, "pause_reading").map(drop)
    }

    /// Continues reading.
    fn resume_reading(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, "resume_reading").map(drop)
    }

    /// Replaces the protocol of the connection.
    fn set_protocol(&self, py: Python<'_>, protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        self.transport.bind(py).call_method1(intern!(py, "set_protocol"), (protocol,)).map(drop)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.transport)?;
        visit.call(&self.write)?;
        visit.call(&self.write_batch)
    }
}
