//! Entrance of requests: one call from Python for each message.
//!
//! ```text
//! body -> parsed -> fast path ----> response
//!            |----> submissions --> worker pool; `drain` returns the response
//!            '----> the calls, which Python decides on: registered from Python, limited, subscriptions, waiting
//! ```

use std::sync::Arc;

use foreseal_rpc::envelope::{BodyLimits, CommonBody};
use foreseal_rpc::ws_frame::{add_text, first_text};
use foreseal_rpc::{Api, FastPath, FastPathLimits, SlowCall};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::caller::PyCaller;
use crate::input::Input;
use crate::node_core::{Core, caller_of};
use crate::parsed_body::PyParsedBody;
use crate::responses::{Freshness, SubmissionResponse};

/// Bytes of answers to WebSocket messages after which they are sent before more requests are answered.
const MAX_FRAMES_SIZE: usize = 64 << 10;

/// A call that was not quick: its method, seconds, bytes of its result.
type Slow = (&'static str, f64, usize);

/// Returns the whole HTTP response to `body`, which begins with `head`, and the calls that were not quick; `None` if
/// the body does not qualify for the fast path.
pub fn whole_response<'py>(
    py: Python<'py>,
    entrance: &PyEntrance,
    body: &[u8],
    head: &[u8],
) -> PyResult<Option<(Bound<'py, PyBytes>, Vec<Slow>)>> {
    let Some(read) = entrance.fast_path.parse(body) else { return Ok(None) };
    let (freshness, view) = Freshness::read(entrance.fast_path.api().node());
    let Some(response) = entrance.fast_path.respond(view.as_ref(), &read) else { return Ok(None) };
    let answer = with_head(py, head, freshness, response.segments())?;
    Ok(Some((answer, slow_calls(response.slow))))
}

/// Returns a whole HTTP response: `head`, the freshness, the length and the `parts` of the JSON.
fn with_head<'py>(
    py: Python<'py>,
    head: &[u8],
    freshness: Freshness,
    parts: [&[u8]; 5],
) -> PyResult<Bound<'py, PyBytes>> {
    let [first, id, middle, value, last] = parts;
    let lines = freshness.lines(parts.iter().map(|part| part.len()).sum());
    joined(py, &[head, lines.as_bytes(), first, id, middle, value, last])
}

fn slow_calls(slow: Vec<SlowCall>) -> Vec<Slow> {
    slow.into_iter().map(|SlowCall { method, time, size }| (method, time.as_secs_f64(), size)).collect()
}

/// Response whose calls were not all quick.
#[pyclass(name = "Answered", module = "foreseal._core", frozen, get_all)]
pub struct PyAnswered {
    /// JSON of the response, or a whole HTTP response.
    response: Py<PyBytes>,
    /// Calls that were not quick: method, seconds, bytes of the result.
    slow: Vec<Slow>,
}

/// Body of submissions that the worker pool processes as a whole.
#[pyclass(name = "Submitted", module = "foreseal._core", frozen, get_all)]
pub struct PySubmitted {
    /// Number of calls.
    calls: usize,
    is_batch: bool,
}

#[pymethods]
impl PySubmitted {
    #[new]
    #[pyo3(signature = (calls, *, is_batch))]
    fn new(calls: usize, is_batch: bool) -> Self {
        Self { calls, is_batch }
    }
}

/// Limits of an entrance.
#[derive(Clone, Copy)]
pub struct EntranceLimits {
    pub fast_path: FastPathLimits,
    pub body: BodyLimits,
    /// Size in bytes above which a body that does not take the fast path is not parsed.
    pub parsed: usize,
}

/// Entrance of request bodies, on the thread of the event loop, and only there.
#[pyclass(name = "Entrance", module = "foreseal._core", frozen)]
pub struct PyEntrance {
    core: Arc<Core>,
    fast_path: FastPath,
    limits: EntranceLimits,
}

/// Returns all of `parts`, concatenated.
fn joined<'py>(py: Python<'py>, parts: &[&[u8]]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, parts.iter().map(|part| part.len()).sum(), |mut bytes| {
        for part in parts {
            let (here, rest) = bytes.split_at_mut(part.len());
            here.copy_from_slice(part);
            bytes = rest;
        }
        Ok(())
    })
}

impl PyEntrance {
    pub fn new(core: Arc<Core>, api: Arc<Api>, limits: EntranceLimits) -> Self {
        Self { core, fast_path: FastPath::new(api, limits.fast_path), limits }
    }

    /// Passes a body of submissions to the worker pool; returns `None` if it is not one, or the pool is full.
    fn submit(
        &self,
        body: &CommonBody<'_>,
        ticket: u64,
        head: Option<(Vec<u8>, Freshness)>,
        caller: Option<&PyCaller>,
    ) -> Option<PySubmitted> {
        if self.fast_path.api().node().forwards_submissions() {
            return None;
        }
        let submissions = self.fast_path.submissions(body)?;
        let (calls, is_batch) = (submissions.calls(), submissions.is_batch());
        let whole = SubmissionResponse { is_batch, response: self.limits.fast_path.response, head };
        self.core
            .submit(submissions, whole, ticket, &caller_of(caller))
            .then_some(PySubmitted { calls, is_batch })
    }
}

#[pymethods]
impl PyEntrance {
    /// Handles the body that begins at `start` of `data`, with one of these results:
    ///
    /// * bytes or Answered: the response. With `head`, the first lines of an HTTP response, it is a whole
    ///   response: `head`, the freshness of the view that answered, the length, the JSON. Quick calls are counted
    ///   here.
    /// * Submitted: the body contains only eth_sendRawTransaction, and the worker pool processes it under `ticket`.
    ///   `drain` returns the response, with `head` a whole one; if a call fails, it returns the list of outcomes
    ///   instead. With no `ticket`, the body is parsed instead.
    /// * ParsedBody: Python decides on the calls; nothing was done.
    /// * None: as ParsedBody, but the body is large: call `parse` when there is time for it.
    #[pyo3(signature = (data, start=0, head=None, ticket=None, caller=None))]
    fn respond<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        start: usize,
        head: Option<Input<'_>>,
        ticket: Option<u64>,
        caller: Option<PyRef<'_, PyCaller>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let body = data.get(start..).unwrap_or_default();
        if let Some(read) = self.fast_path.parse(body) {
            let (freshness, view) = Freshness::read(self.fast_path.api().node());
            if let Some(response) = self.fast_path.respond(view.as_ref(), &read) {
                let parts = response.segments();
                let answer = match head {
                    Some(head) => with_head(py, &head, freshness, parts)?,
                    None => joined(py, &parts)?,
                };
                if response.slow.is_empty() {
                    return Ok(Some(answer.into_any()));
                }
                let answered = PyAnswered { response: answer.unbind(), slow: slow_calls(response.slow) };
                return Ok(Some(Bound::new(py, answered)?.into_any()));
            }
            if let Some(ticket) = ticket {
                let head = head.map(|head| (head.to_vec(), freshness));
                if let Some(submitted) = self.submit(&read, ticket, head, caller.as_deref()) {
                    return Ok(Some(Bound::new(py, submitted)?.into_any()));
                }
            }
        }
        if body.len() > self.limits.parsed {
            return Ok(None);
        }
        Ok(Some(Bound::new(py, PyParsedBody::new(py, body, &self.limits.body)?)?.into_any()))
    }

    /// Parses a body without running any of its calls.
    fn parse(&self, py: Python<'_>, body: Input<'_>) -> PyResult<PyParsedBody> {
        PyParsedBody::new(py, &body, &self.limits.body)
    }

    /// Answers the WebSocket frames that `data` begins with. Each frame must be a complete text message of at
    /// most `max_length` bytes whose body qualifies for the fast path; answering also stops once there is much to
    /// send.
    ///
    /// Returns the frames with the answers, the number of bytes of `data` that were consumed, and the calls
    /// that were not quick. Returns None if the first frame does not qualify.
    fn respond_to_frames<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        max_length: usize,
    ) -> Option<(Bound<'py, PyBytes>, usize, Vec<Slow>)> {
        let view = self.fast_path.api().node().view();
        let (mut frames, mut end, mut slow) = (Vec::new(), 0, Vec::new());
        while frames.len() < MAX_FRAMES_SIZE
            && let Some(text) = first_text(&data[end..], max_length)
            && let Some(body) = self.fast_path.parse(&text.content)
            && let Some(response) = self.fast_path.respond(view.as_ref(), &body)
        {
            add_text(&mut frames, &response.segments());
            slow.extend(slow_calls(response.slow));
            end += text.size;
        }
        (end > 0).then(|| (PyBytes::new(py, &frames), end, slow))
    }

    /// Excludes `method`, which Python owns, from now on. It need not be one of the core's.
    fn exclude(&self, method: &str) {
        self.fast_path.exclude(method);
    }

    /// Returns the quick calls since the last `drain_calls`, as (method, calls, seconds of them together). The
    /// method is empty for calls of unknown methods.
    fn drain_calls(&self) -> Vec<(&'static str, u64, f64)> {
        let counted = self.fast_path.drain_calls().into_iter();
        counted.map(|counted| (counted.method, counted.calls, counted.time.as_secs_f64())).collect()
    }

    /// Returns the failed calls since the last `drain_failed_calls`, quick or not, as (method, code, calls).
    fn drain_failed_calls(&self) -> Vec<(&'static str, i64, u64)> {
        let failed = self.fast_path.drain_failed_calls().into_iter();
        failed.map(|failed| (failed.method, failed.code, failed.calls)).collect()
    }
}
