//! Bodies whose calls are not all answered at once, exported to Python.

use std::sync::Arc;
use std::time::Duration;

use foreseal_rpc::{BodyReply, CallerBudget, HttpStatus, Lanes, PendingBody, Progress, Refusal, RpcError};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answered::py_reply;
use crate::caller::PyCaller;
use crate::freshness::Freshness;
use crate::lanes::NoLanes;
use crate::large_result::result_bytes;
use crate::node_core::BodyLanes;

/// Body of a request whose calls are not all answered. Used on the thread of the event loop only.
#[pyclass(name = "PendingBody", module = "foreseal._core", frozen)]
pub struct PyPendingBody {
    body: Arc<PendingBody>,
    /// `None` if all methods are Python's.
    lanes: Option<BodyLanes>,
    caller: Option<Py<PyCaller>>,
    /// Ticket under which `drain` tells that a call has ended.
    #[pyo3(get)]
    ticket: u64,
    /// Size of the body in bytes.
    #[pyo3(get)]
    size: usize,
    freshness: Freshness,
    /// Progress that Python has not heard of.
    progress: Mutex<Option<Progress>>,
}

impl PyPendingBody {
    /// Creates a body, and starts its calls within the slice in which it has entered, except a batch of a connection,
    /// which runs one at a time.
    pub fn new(
        body: Arc<PendingBody>,
        ticket: u64,
        lanes: Option<BodyLanes>,
        caller: Option<Py<PyCaller>>,
        size: usize,
        freshness: Freshness,
        is_connection: bool,
    ) -> Self {
        let pending = Self { body, ticket, lanes, caller, size, freshness, progress: Mutex::default() };
        if !(is_connection && pending.body.is_batch()) {
            *pending.progress.lock() = Some(pending.start());
        }
        pending
    }

    /// Starts calls within the current slice.
    fn start(&self) -> Progress {
        let lanes: &dyn Lanes = self.lanes.as_ref().map_or(&NoLanes, |lanes| lanes);
        self.body.proceed(lanes, self.budget())
    }

    pub fn body(&self) -> &PendingBody {
        &self.body
    }

    fn budget(&self) -> Option<&dyn CallerBudget> {
        self.caller.as_ref().and_then(|caller| caller.get().call_budget())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[pymethods]
impl PyPendingBody {
    /// True for a batch.
    #[getter]
    fn is_batch(&self) -> bool {
        self.body.is_batch()
    }

    /// Freshness of the view like `Node.freshness`.
    #[getter]
    fn view(&self) -> (u64, u64, u64, u64) {
        self.freshness.numbers()
    }

    /// True if all calls are started.
    #[getter]
    fn is_started(&self) -> bool {
        self.body.is_started()
    }

    /// True if all calls are answered.
    #[getter]
    fn is_answered(&self) -> bool {
        self.body.is_answered()
    }

    /// Begins a slice of the event loop: the next one that is due if the time of this one is over.
    fn begin_slice(&self) {
        self.body.begin_slice();
    }

    /// True if all calls are started, and only worker threads have to end some.
    #[getter]
    fn waits_for_core(&self) -> bool {
        *self.progress.lock() == Some(Progress::Waiting) && self.body.is_started()
    }

    /// Starts calls until something must be done or awaited.
    ///
    /// Returns (state, index of a call, us):
    ///
    /// * "answered": `take_reply` returns the response
    /// * "slice": call this again in another slice
    /// * "waiting": `drain` returns the ticket when a call has ended; then call this again
    /// * "call": run the `request` with this index, and give its outcome to `answer` or `reject`, now or later
    /// * "rate", "cpu": the same, but the call is refused for that budget; the caller may retry in so many us
    fn proceed(&self) -> (&'static str, usize, u64) {
        let first = self.progress.lock().take();
        match first.unwrap_or_else(|| self.start()) {
            Progress::Answered => ("answered", 0, 0),
            Progress::Slice => ("slice", 0, 0),
            Progress::Waiting => ("waiting", 0, 0),
            Progress::Call(index) => ("call", index, 0),
            Progress::Refused(index, Refusal::Rate { retry_after }) => ("rate", index, micros(retry_after)),
            Progress::Refused(index, Refusal::Cpu { retry_after }) => ("cpu", index, micros(retry_after)),
        }
    }

    /// Returns the method and the params, a JSON array, of the call with this index.
    fn request<'py>(&self, py: Python<'py>, index: usize) -> (String, Bound<'py, PyBytes>) {
        let (method, params) = self.body.request(index).unwrap_or(("", "[]"));
        (method.to_owned(), PyBytes::new(py, params.as_bytes()))
    }

    /// Adds the result, bytes or a `LargeResult`, of a call that Python ran. Returns the code of the error that took
    /// its place, or None, and True if a wait for this body is over.
    fn answer(&self, index: usize, result: &Bound<'_, PyAny>) -> PyResult<(Option<i64>, bool)> {
        let (code, wake) = self.body.answer(index, Ok(result_bytes(result)?), None);
        Ok((code, wake.is_some()))
    }

    /// Adds the error of a call that Python ran or refused, with the HTTP status that it has alone and the seconds
    /// after which the caller may retry. A status of 0 is that of other errors with this code. Returns the same as
    /// `answer`.
    #[pyo3(signature = (index, code, message, data=None, status=0, seconds=0))]
    fn reject(
        &self,
        index: usize,
        code: i64,
        message: String,
        data: Option<Vec<u8>>,
        status: u16,
        seconds: u64,
    ) -> (Option<i64>, bool) {
        let status = (status != 0).then_some(HttpStatus { code: status, retry_after: seconds });
        let (code, wake) = self.body.answer(index, Err(RpcError { code, message, data }), status);
        (code, wake.is_some())
    }

    /// Ends the calls on worker threads before they start, or soon after, and drops their answers; submissions
    /// continue.
    fn cancel(&self) {
        self.body.cancel();
        if let Some(lanes) = &self.lanes {
            lanes.cancel();
        }
    }

    /// Returns the response once all calls are answered, like `Entrance.respond`; call it once.
    fn take_reply<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let reply: BodyReply<'_> = self.body.take_reply(self.budget());
        py_reply(py, reply, self.freshness, None)
    }
}
