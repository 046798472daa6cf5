//! Entrance of requests: one call from Python for each message.
//!
//! ```text
//! body -> answered at once ----> response
//!           '----> PendingBody -> lanes, Python's own methods, further slices -> response
//! ```

use std::sync::Arc;
use std::time::Duration;

use foreseal_chain::View;
use foreseal_rpc::ws_frame::{add_text, first_text};
use foreseal_rpc::{Api, BodyLimits, Costs, Entered, Entrance, EntranceLimits, PendingBody, RequestCaller};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answered::{Slow, py_reply, slow_calls};
use crate::caller::PyCaller;
use crate::freshness::Freshness;
use crate::input::Input;
use crate::node_core::{BodyLanes, Core, next_ticket};
use crate::pending_body::PyPendingBody;

/// Bytes of answers to WebSocket messages after which they are sent before more requests are answered.
const MAX_FRAMES_SIZE: usize = 64 << 10;

/// Limits of an entrance, the attributes of a Python object.
///
/// * `response`: bytes of the results of a body together
/// * `values`, `depth`, `batch`: JSON values, nested arrays and objects, and entries of a body
/// * `parsed`: bytes of a body above which it is not parsed at once
/// * `quick`: longest time in seconds of a call that is only counted
/// * `calls`: calls of all callers on worker threads
/// * `costs`: tokens of a call of a caller with limits, by method; 1 without an entry
#[derive(FromPyObject)]
pub struct PyEntranceLimits {
    response: usize,
    values: usize,
    depth: usize,
    batch: usize,
    parsed: usize,
    quick: f64,
    calls: usize,
    costs: Costs,
}

/// Entrance of request bodies, on the thread of the event loop, and only there.
///
/// An entrance that Python creates serves no methods itself: all of them are Python's. That of a node is from
/// `Node.entrance`.
///
/// Raises ValueError if `limits.quick` is not a valid time.
#[pyclass(name = "Entrance", module = "foreseal._core", frozen)]
pub struct PyEntrance {
    /// `None` if all methods are Python's.
    core: Option<Arc<Core>>,
    entrance: Arc<Entrance>,
    /// Most calls of all callers on worker threads.
    max_calls: usize,
}

impl PyEntrance {
    /// Creates the entrance of a node, with its methods for some callers, or one without methods.
    pub fn create(node: Option<(Arc<Core>, Arc<Api>)>, limits: PyEntranceLimits) -> PyResult<Self> {
        let PyEntranceLimits { response, values, depth, batch, parsed, quick, calls, costs } = limits;
        let quick = Duration::try_from_secs_f64(quick)
            .map_err(|error| PyValueError::new_err(format!("quick: {error}")))?;
        let limits = EntranceLimits { response, body: BodyLimits { values, depth, batch }, parsed, quick };
        let (core, api) = node.unzip();
        Ok(Self { core, entrance: Arc::new(Entrance::new(api, limits, &costs)), max_calls: calls })
    }

    /// Returns the freshness of the newest view, and the view.
    fn view(&self) -> (Freshness, Option<Arc<View>>) {
        let nothing = Freshness { block: 0, step: 0, age: 0, epoch: 0 };
        self.entrance.api().map_or((nothing, None), |api| Freshness::read(api.node()))
    }

    /// Returns the response to `body`, or the body if it is not answered at once; `None` if it is large and not parsed.
    pub fn enter<'py>(
        &self,
        py: Python<'py>,
        body: &[u8],
        head: Option<&[u8]>,
        caller: Option<&Py<PyCaller>>,
        is_connection: bool,
        may_be_large: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (freshness, view) = self.view();
        let budget = caller.and_then(|caller| caller.get().call_budget());
        let from = RequestCaller { budget, is_connection };
        match self.entrance.respond(view.as_ref(), body, &from, may_be_large) {
            Entered::Answered(reply) => py_reply(py, reply, freshness, head).map(Some),
            Entered::Pending(pending) => {
                Ok(Some(self.pending(py, pending, body.len(), caller, freshness, is_connection)?.into_any()))
            }
            Entered::Large => Ok(None),
        }
    }

    fn pending<'py>(
        &self,
        py: Python<'py>,
        body: Arc<PendingBody>,
        size: usize,
        caller: Option<&Py<PyCaller>>,
        freshness: Freshness,
        is_connection: bool,
    ) -> PyResult<Bound<'py, PyPendingBody>> {
        let ticket = next_ticket();
        let lanes =
            |core: &Arc<Core>| BodyLanes::new(core.clone(), caller.map(Py::get), self.max_calls, ticket);
        let (lanes, caller) = (self.core.as_ref().map(lanes), caller.map(|caller| caller.clone_ref(py)));
        Bound::new(py, PyPendingBody::new(body, ticket, lanes, caller, size, freshness, is_connection))
    }
}

/// Frames that answer messages, the number of bytes consumed, calls that were not quick, and the body of the last
/// message if it is not answered.
type AnsweredFrames<'py> = (Bound<'py, PyBytes>, usize, Vec<Slow>, Option<Bound<'py, PyPendingBody>>);

#[pymethods]
impl PyEntrance {
    #[new]
    fn new(limits: PyEntranceLimits) -> PyResult<Self> {
        Self::create(None, limits)
    }

    /// Handles the body at `start` of `data`.
    ///
    /// Returns the response as bytes if all its calls are answered at once; with `head`, the first lines of an HTTP
    /// response, the whole response. Returns an `Answered` if it is not OK or not quick, and a `PendingBody` if calls
    /// are left. Returns None if the body is large and not parsed: call this again with `may_be_large` when there is
    /// time. Everything is charged to the budgets of `caller`. `is_connection`: the caller has a connection without
    /// HTTP statuses, so each call of a batch is refused by itself.
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    #[pyo3(signature = (data, start=0, head=None, caller=None, is_connection=false, may_be_large=false))]
    fn respond<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        start: usize,
        head: Option<Input<'_>>,
        caller: Option<Py<PyCaller>>,
        is_connection: bool,
        may_be_large: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let body = data.get(start..).unwrap_or_default();
        self.enter(py, body, head.as_deref(), caller.as_ref(), is_connection, may_be_large)
    }

    /// Answers the WebSocket frames that `data` begins with. Each frame must be a complete text message of at most
    /// `max_length` bytes of UTF-8; answering also stops once there is much to send. Everything is charged to the
    /// budgets of `caller`.
    ///
    /// Returns the frames with the answers, the number of bytes of `data` that were consumed, the calls that were not
    /// quick, and a `PendingBody` if the last message that was consumed is not answered. Returns None if the first
    /// frame is not such a message.
    #[pyo3(signature = (data, max_length, caller=None))]
    fn respond_to_frames<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        max_length: usize,
        caller: Option<Py<PyCaller>>,
    ) -> PyResult<Option<AnsweredFrames<'py>>> {
        let (freshness, view) = self.view();
        let budget = caller.as_ref().and_then(|caller| caller.get().call_budget());
        let from = RequestCaller { budget, is_connection: true };
        let (mut frames, mut end, mut slow, mut pending) = (Vec::new(), 0, Vec::new(), None);
        while frames.len() < MAX_FRAMES_SIZE
            && pending.is_none()
            && let Some(text) = first_text(&data[end..], max_length)
            // Another text is a violation of the protocol, which closes the connection.
            && std::str::from_utf8(&text.content).is_ok()
        {
            match self.entrance.respond(view.as_ref(), &text.content, &from, false) {
                Entered::Answered(reply) => {
                    if !reply.json.is_empty() {
                        add_text(&mut frames, &reply.json.segments());
                    }
                    slow.extend(slow_calls(reply.slow));
                }
                Entered::Pending(body) => {
                    pending =
                        Some(self.pending(py, body, text.content.len(), caller.as_ref(), freshness, true)?);
                }
                Entered::Large => break,
            }
            end += text.size;
        }
        Ok((end > 0).then(|| (PyBytes::new(py, &frames), end, slow, pending)))
    }

    /// Excludes `method`, which Python owns, from now on. It need not be one of the core's.
    fn exclude(&self, method: &str) {
        self.entrance.exclude(method);
    }

    /// Returns the quick calls since the last `drain_calls`, as (method, calls, seconds of them together). The
    /// method is empty for calls of unknown methods.
    fn drain_calls(&self) -> Vec<(&'static str, u64, f64)> {
        let counted = self.entrance.drain_calls().into_iter();
        counted.map(|counted| (counted.method, counted.calls, counted.time.as_secs_f64())).collect()
    }

    /// Returns the failed calls since the last `drain_failed_calls`, quick or not, as (method, code, calls).
    fn drain_failed_calls(&self) -> Vec<(&'static str, i64, u64)> {
        let failed = self.entrance.drain_failed_calls().into_iter();
        failed.map(|failed| (failed.method, failed.code, failed.calls)).collect()
    }
}
