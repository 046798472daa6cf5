//! The fast path of requests, exported to Python.

use std::sync::Arc;

use foreseal_rpc::ws_frame::{add_text, first_text};
use foreseal_rpc::{Api, FastPath, FastPathLimits, SlowCall};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::input::Input;
use crate::responses::Freshness;

/// Bytes of answers to WebSocket messages after which they are sent before more requests are answered.
const MAX_FRAMES_SIZE: usize = 64 << 10;

/// A call that was not quick: its method, seconds, bytes of its result.
type Slow = (&'static str, f64, usize);

fn slow_calls(slow: Vec<SlowCall>) -> Vec<Slow> {
    slow.into_iter().map(|SlowCall { method, time, size }| (method, time.as_secs_f64(), size)).collect()
}

/// Answers request bodies on the thread of the event loop, and only there.
///
/// A body qualifies if it is written in the common form, and each of its methods runs at once and changes
/// nothing, or is unknown. Methods that nearly always run at once qualify too, unless this call would take
/// long. Errors are final: the run that found one answers with it.
#[pyclass(name = "Inline", module = "foreseal._core", frozen)]
pub struct PyInline(FastPath);

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

impl PyInline {
    /// Serves the methods of `api` that run at once, or are tried inline.
    pub fn new(api: Arc<Api>, limits: FastPathLimits) -> Self {
        Self(FastPath::new(api, limits))
    }
}

#[pymethods]
impl PyInline {
    /// Answers the body that begins at `start` of `data`. Returns None if it must take the slow path; then
    /// nothing was done.
    ///
    /// With `head`, the first lines of an HTTP response, the result is a whole response: `head`, the
    /// freshness of the view that answered, the length, the answer. The second value lists the calls that
    /// were not quick: method, seconds, bytes of the result. Quick calls are counted here.
    #[pyo3(signature = (data, start=0, head=None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        start: usize,
        head: Option<Input<'_>>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Vec<Slow>)>> {
        let (freshness, view) = Freshness::of(self.0.api().node());
        let Some(response) = data.get(start..).and_then(|body| self.0.respond(view.as_ref(), body)) else {
            return Ok(None);
        };
        let parts = response.parts();
        let [first, id, middle, value, last] = parts;
        let answer = if let Some(head) = head {
            let lines = freshness.lines(parts.iter().map(|part| part.len()).sum());
            joined(py, &[&head, lines.as_bytes(), first, id, middle, value, last])?
        } else {
            joined(py, &parts)?
        };
        Ok(Some((answer, slow_calls(response.slow))))
    }

    /// Answers the WebSocket frames that `data` begins with. Each frame must be a complete text message of at
    /// most `most` bytes whose body qualifies for the fast path; answering also stops once there is much to
    /// send.
    ///
    /// Returns the frames with the answers, the number of bytes of `data` that were consumed, and the calls
    /// as in `answer`. Returns None if the first frame does not qualify.
    fn converse<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        most: usize,
    ) -> Option<(Bound<'py, PyBytes>, usize, Vec<Slow>)> {
        let view = self.0.api().node().view();
        let (mut frames, mut end, mut slow) = (Vec::new(), 0, Vec::new());
        while frames.len() < MAX_FRAMES_SIZE
            && let Some(text) = first_text(&data[end..], most)
            && let Some(response) = self.0.respond(view.as_ref(), &text.content)
        {
            add_text(&mut frames, &response.parts());
            slow.extend(slow_calls(response.slow));
            end += text.size;
        }
        (end > 0).then(|| (PyBytes::new(py, &frames), end, slow))
    }

    /// Excludes `method`, which Python owns, from the fast path from now on. It need not be one of the
    /// core's.
    fn leave_out(&self, method: &str) {
        self.0.exclude(method);
    }

    /// Returns the quick calls since the last `take`, as (method, calls, seconds of them together). The
    /// method is empty for calls of unknown methods.
    fn take(&self) -> Vec<(&'static str, u64, f64)> {
        let counted = self.0.take().into_iter();
        counted.map(|counted| (counted.method, counted.calls, counted.time.as_secs_f64())).collect()
    }

    /// Returns the failed calls since the last `take_failed`, quick or not, as (method, code, calls).
    fn take_failed(&self) -> Vec<(&'static str, i64, u64)> {
        let failed = self.0.take_failed().into_iter();
        failed.map(|failed| (failed.method, failed.code, failed.calls)).collect()
    }
}
