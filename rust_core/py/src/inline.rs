//! The short way of nearly all calls: from the bytes of a body to the bytes of its answer, in one go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use alloy_primitives::map::HashMap;
use bytes::Bytes;
use foreseal_node::View;
use foreseal_rpc::plain::{Body, Plain, read};
use foreseal_rpc::texts::{add_text, first_text};
use foreseal_rpc::{Access, Api, Attempt, Cost, Method, methods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::input::Input;
use crate::responses::{Freshness, envelope};

/// A batch that takes longer is begun anew, in turns with other requests: what it asks changes nothing.
const TURN: Duration = Duration::from_millis(1);

/// Room for each answer of a batch, to begin with (bytes).
const ANSWER: usize = 128;

/// Bytes of answers to the texts of a WebSocket, from which on they are sent before more are answered.
const PIECE: usize = 64 << 10;

/// What is said of a call that was not quick: its method, seconds, bytes of its result.
type Slow = (&'static str, f64, usize);

/// Answers bodies whose calls are all of methods that run at once and change nothing, are written plainly and end well; and
/// those of methods that nearly always do ([`Cost::Short`]), unless this one would take long.
/// To be used by the thread of the event loop alone.
#[pyclass(name = "Inline", module = "foreseal._core", frozen)]
pub struct PyInline {
    api: Arc<Api>,
    rows: HashMap<&'static str, Row>,
    limits: Limits,
    /// Of batches with calls that may be long.
    batches: Passing,
}

struct Limits {
    /// Bytes of an answer.
    response: usize,
    /// Arrays and objects within each other.
    depth: usize,
    /// Calls of a batch.
    batch: usize,
    /// A call that takes longer is told to whoever asked, with its time.
    quick: Duration,
}

/// A method, and its quick calls since they were last taken.
struct Row {
    method: &'static Method,
    left_out: AtomicBool,
    passing: Passing,
    calls: AtomicU64,
    nanos: AtomicU64,
}

/// What is not tried for a while, as it was too long lately: one the next time, then twice as many each time.
#[derive(Default)]
struct Passing {
    /// How many are still passed by.
    left: AtomicU32,
    /// How many were, the last time.
    width: AtomicU32,
}

impl Passing {
    /// As many at most.
    const MOST: u32 = 64;

    /// Whether the next one is to be tried; counts those that are not.
    fn tries(&self) -> bool {
        let left = self.left.load(Relaxed);
        if left > 0 {
            self.left.store(left - 1, Relaxed);
        }
        left == 0
    }

    fn was_short(&self) {
        self.width.store(0, Relaxed);
    }

    fn was_long(&self) {
        let width = (2 * self.width.load(Relaxed)).clamp(1, Self::MOST);
        self.width.store(width, Relaxed);
        self.left.store(width, Relaxed);
    }
}

/// Answers, as they are put together.
struct Answers<'a> {
    json: Json<'a>,
    slow: Vec<Slow>,
}

/// JSON of a body.
enum Json<'a> {
    /// One answer, its parts still apart: they are written once, where they are to be.
    Call {
        id: &'a str,
        result: Bytes,
    },
    Batch(Vec<u8>),
}

impl Json<'_> {
    fn parts(&self) -> [&[u8]; 5] {
        match self {
            Self::Call { id, result } => envelope(id, result),
            Self::Batch(json) => [json, b"", b"", b"", b""],
        }
    }
}

/// All of `parts`, one behind the other.
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
    /// Takes what runs at once, or is tried so, and is for everyone.
    pub fn new(api: Arc<Api>, response: usize, depth: usize, batch: usize, quick: Duration) -> Self {
        let taken = methods().filter(|method| {
            matches!(method.cost, Cost::Inline | Cost::Short) && method.access == Access::Everyone
        });
        let row = |method| Row {
            method,
            left_out: AtomicBool::new(false),
            passing: Passing::default(),
            calls: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        };
        let rows = taken.map(|method| (method.name, row(method))).collect();
        let limits = Limits { response, depth, batch, quick };
        Self { api, rows, limits, batches: Passing::default() }
    }

    /// The answers to `body` from `view`; `None` where it has to go the long way.
    fn run<'a>(&self, view: Option<&Arc<View>>, body: &'a [u8]) -> Option<Answers<'a>> {
        match read(body, self.limits.depth, self.limits.batch)? {
            Body::Call(call) => {
                let row = self.row(&call)?;
                if !row.passing.tries() {
                    return None;
                }
                let begun = Instant::now();
                let result = self.answer_to(view, row, &call)?;
                let took = begun.elapsed();
                let mut slow = Vec::new();
                self.count(row, took, result.len(), &mut slow);
                Some(Answers { json: Json::Call { id: call.id, result }, slow })
            }
            Body::Batch(calls) => {
                let rows = self.rows_of(&calls)?;
                let may_be_long = rows.iter().any(|row| row.method.cost == Cost::Short);
                if may_be_long && !self.batches.tries() {
                    return None;
                }
                let answers = self.run_batch(view, &rows, &calls);
                match &answers {
                    _ if !may_be_long => {}
                    Some(_) => self.batches.was_short(),
                    None => self.batches.was_long(),
                }
                answers
            }
        }
    }

    fn row(&self, call: &Plain<'_>) -> Option<&Row> {
        self.rows.get(call.method).filter(|row| !row.left_out.load(Relaxed))
    }

    /// The rows of all `calls`. Most batches ask one method over and over, which is looked up once.
    fn rows_of(&self, calls: &[Plain<'_>]) -> Option<Vec<&Row>> {
        let mut rows: Vec<&Row> = Vec::with_capacity(calls.len());
        for call in calls {
            let before = rows.last().copied().filter(|row| row.method.name == call.method);
            rows.push(before.or_else(|| self.row(call))?);
        }
        Some(rows)
    }

    fn run_batch(
        &self,
        view: Option<&Arc<View>>,
        rows: &[&Row],
        calls: &[Plain<'_>],
    ) -> Option<Answers<'static>> {
        let mut taken = Vec::with_capacity(calls.len());
        let begun = Instant::now();
        let mut now = begun;
        let mut json = Vec::with_capacity(ANSWER * calls.len());
        for (row, call) in rows.iter().zip(calls) {
            json.push(if taken.is_empty() { b'[' } else { b',' });
            let result = self.answer_to(view, row, call)?;
            for part in envelope(call.id, &result) {
                json.extend_from_slice(part);
            }
            // The end of one call is the beginning of the next: to ask the time takes a while of its own.
            let before = std::mem::replace(&mut now, Instant::now());
            if now - begun > TURN || json.len() > self.limits.response {
                return None;
            }
            taken.push((now - before, result.len()));
        }
        json.push(b']');
        let mut slow = Vec::new();
        for (row, (took, size)) in rows.iter().zip(taken) {
            self.count(row, took, size, &mut slow);
        }
        Some(Answers { json: Json::Batch(json), slow })
    }

    /// Counts a quick call; adds another one to `slow`.
    fn count(&self, row: &Row, took: Duration, size: usize, slow: &mut Vec<Slow>) {
        if took > self.limits.quick {
            slow.push((row.method.name, took.as_secs_f64(), size));
        } else {
            row.calls.fetch_add(1, Relaxed);
            row.nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        }
    }

    /// The result of one call.
    fn answer_to(&self, view: Option<&Arc<View>>, row: &Row, call: &Plain<'_>) -> Option<Bytes> {
        let attempt = self.api.attempt(view, row.method, call.params.as_bytes());
        if row.method.cost == Cost::Short {
            match attempt {
                Attempt::Long => row.passing.was_long(),
                Attempt::Answered(_) => row.passing.was_short(),
                Attempt::Failed => {}
            }
        }
        match attempt {
            Attempt::Answered(result) if result.len() <= self.limits.response => Some(result),
            _ => None,
        }
    }
}

#[pymethods]
impl PyInline {
    /// The answer to the body that begins at `start` of `data`; None where it has to go the long way: then nothing was done.
    ///
    /// With `head`, the first lines of an HTTP response, it is a whole response: `head`, the freshness of the view that
    /// answered, the length, the answer. The second of the pair has the calls that were not quick: method, seconds, bytes of
    /// the result. Quick ones are counted here.
    #[pyo3(signature = (data, start=0, head=None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        start: usize,
        head: Option<Input<'_>>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Vec<Slow>)>> {
        let (freshness, view) = Freshness::of(self.api.node());
        let Some(answers) = data.get(start..).and_then(|body| self.run(view.as_ref(), body)) else {
            return Ok(None);
        };
        let Answers { json, slow } = answers;
        let [first, id, middle, result, last] = json.parts();
        let Some(head) = head else {
            return Ok(Some((joined(py, &[first, id, middle, result, last])?, slow)));
        };
        let lines = freshness.lines(json.parts().iter().map(|part| part.len()).sum());
        let whole = joined(py, &[&head, lines.as_bytes(), first, id, middle, result, last])?;
        Ok(Some((whole, slow)))
    }

    /// The frames with the answers to the WebSocket frames that `data` begins with, as far as they are whole texts of
    /// `most` bytes at most whose bodies have a short way, or until there is much to send; how many bytes of `data` these
    /// take, and the calls as in `answer`. None where that is not one of them.
    fn converse<'py>(
        &self,
        py: Python<'py>,
        data: Input<'_>,
        most: usize,
    ) -> Option<(Bound<'py, PyBytes>, usize, Vec<Slow>)> {
        let view = self.api.node().view();
        let (mut frames, mut end, mut slow) = (Vec::new(), 0, Vec::new());
        while frames.len() < PIECE
            && let Some(text) = first_text(&data[end..], most)
            && let Some(answers) = self.run(view.as_ref(), &text.content)
        {
            add_text(&mut frames, &answers.json.parts());
            slow.extend(answers.slow);
            end += text.size;
        }
        (end > 0).then(|| (PyBytes::new(py, &frames), end, slow))
    }

    /// Calls of `method`, if there is one, go the long way from now on.
    fn leave_out(&self, method: &str) {
        if let Some(row) = self.rows.get(method) {
            row.left_out.store(true, Relaxed);
        }
    }

    /// The quick calls since the last time, as (method, calls, seconds of them together).
    fn take(&self) -> Vec<(&'static str, u64, f64)> {
        let taken = self.rows.values().map(|row| {
            let (calls, nanos) = (row.calls.swap(0, Relaxed), row.nanos.swap(0, Relaxed));
            (row.method.name, calls, Duration::from_nanos(nanos).as_secs_f64())
        });
        taken.filter(|(_, calls, _)| *calls > 0).collect()
    }
}
