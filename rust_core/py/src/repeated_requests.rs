//! Repeated requests of a connection: most clients send the same head with every call.
//!
//! ```text
//! input -> same head and size as the last request? -> entrance --> response
//!              |                                        |
//!              '----------------------------------------'--> the connection, in Python
//! ```

use parking_lot::Mutex;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::caller::PyCaller;
use crate::entrance::PyEntrance;
use crate::write_batch::{MAX_BATCHED_SIZE, PyBatchedTransport};

/// Values of a listener that change each second. Used on the event loop's thread only.
#[pyclass(name = "ListenerClock", module = "foreseal._core", frozen)]
pub struct PyListenerClock {
    seconds: Mutex<f64>,
    head: Mutex<Option<Py<PyBytes>>>,
}

#[pymethods]
impl PyListenerClock {
    #[new]
    fn new() -> Self {
        Self { seconds: Mutex::new(0.0), head: Mutex::new(None) }
    }

    /// Sets the time in seconds, and the first lines of responses to repeated requests. With no lines, such requests
    /// are not answered here.
    fn set(&self, seconds: f64, head: Option<Py<PyBytes>>) {
        *self.seconds.lock() = seconds;
        *self.head.lock() = head;
    }
}

/// The last request: another one with the same head and size comes from the same caller.
struct LastRequest {
    head: Py<PyBytes>,
    size: usize,
    entrance: Py<PyEntrance>,
    transport: Py<PyBatchedTransport>,
    caller: Option<Py<PyCaller>>,
}

/// Input of one connection. Requests that repeat the head of the last one enter here: short and quick answers are
/// written, any other result of the entrance goes to `connection._entered`, and other input to `connection._receive`.
#[pyclass(name = "RepeatedRequests", module = "foreseal._core", frozen)]
pub struct PyRepeatedRequests {
    connection: Py<PyAny>,
    clock: Py<PyListenerClock>,
    last: Mutex<Option<LastRequest>>,
    since: Mutex<f64>,
}

impl LastRequest {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            head: self.head.clone_ref(py),
            size: self.size,
            entrance: self.entrance.clone_ref(py),
            transport: self.transport.clone_ref(py),
            caller: self.caller.as_ref().map(|caller| caller.clone_ref(py)),
        }
    }
}

impl PyRepeatedRequests {
    /// Returns the last request if `data` repeats its head and its size.
    fn repeated(&self, py: Python<'_>, data: &[u8]) -> Option<LastRequest> {
        let last = self.last.lock();
        let last = last.as_ref().filter(|last| data.len() == last.size)?;
        data.starts_with(last.head.as_bytes(py)).then(|| last.clone_ref(py))
    }

    /// Returns `true` if `data` was a repeated request that is now answered.
    fn answer(&self, py: Python<'_>, data: &[u8]) -> PyResult<bool> {
        let Some(last) = self.repeated(py, data) else { return Ok(false) };
        let clock = self.clock.get();
        let Some(lines) = clock.head.lock().as_ref().map(|head| head.clone_ref(py)) else { return Ok(false) };
        let body = &data[last.head.as_bytes(py).len()..];
        let (entrance, head) = (last.entrance.get(), lines.as_bytes(py));
        let entered = entrance.enter(py, body, Some(head), last.caller.as_ref(), false, false)?;
        let Some(entered) = entered else { return Ok(false) };
        match entered.cast::<PyBytes>() {
            Ok(response) if response.as_bytes().len() <= MAX_BATCHED_SIZE => {
                *self.since.lock() = *clock.seconds.lock();
                PyBatchedTransport::queue(last.transport.bind(py), response)?;
            }
            _ => {
                self.forget();
                self.connection.bind(py).call_method1(intern!(py, "_entered"), (entered,))?;
            }
        }
        Ok(true)
    }
}

#[pymethods]
impl PyRepeatedRequests {
    #[new]
    fn new(connection: Py<PyAny>, clock: Py<PyListenerClock>) -> Self {
        let since = *clock.get().seconds.lock();
        Self { connection, clock, last: Mutex::new(None), since: Mutex::new(since) }
    }

    /// Time of the last answer, in seconds of the listener's clock, or the time that was set.
    #[getter]
    fn since(&self) -> f64 {
        *self.since.lock()
    }

    #[setter]
    fn set_since(&self, since: f64) {
        *self.since.lock() = since;
    }

    /// Answers further requests with this head that have `size` bytes in all, until `forget`, and charges them to the
    /// budgets of `caller`.
    #[pyo3(signature = (head, size, entrance, transport, caller=None))]
    fn remember(
        &self,
        head: Py<PyBytes>,
        size: usize,
        entrance: Py<PyEntrance>,
        transport: Py<PyBatchedTransport>,
        caller: Option<Py<PyCaller>>,
    ) {
        *self.last.lock() = Some(LastRequest { head, size, entrance, transport, caller });
    }

    /// Passes all input to the connection, until `remember`.
    fn forget(&self) {
        self.last.lock().take();
    }

    /// Processes received bytes. Input that is not answered here ends the repetition: the connection decides when it
    /// is ready for the next.
    fn receive(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(bytes) = data.cast::<PyBytes>()
            && self.answer(py, bytes.as_bytes())?
        {
            return Ok(());
        }
        self.forget();
        self.connection.bind(py).call_method1(intern!(py, "_receive"), (data,)).map(drop)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.connection)?;
        visit.call(&self.clock)?;
        if let Some(guard) = self.last.try_lock()
            && let Some(last) = &*guard
        {
            visit.call(&last.transport)?;
            visit.call(&last.entrance)?;
        }
        Ok(())
    }
}
