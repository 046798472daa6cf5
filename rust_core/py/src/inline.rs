//! The fast path of most calls: from the bytes of a request body to the bytes of its response, on the event
//! loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use alloy_primitives::map::HashMap;
use bytes::Bytes;
use foreseal_chain::View;
use foreseal_rpc::plain::{Body, Plain, read};
use foreseal_rpc::texts::{add_text, first_text};
use foreseal_rpc::{Access, Api, Attempt, Cost, Method, methods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::input::Input;
use crate::responses::{Freshness, envelope};

/// Longest run of a batch on the fast path. A longer one restarts on the slow path, which interleaves it with
/// other requests. Its calls change nothing, so repeating them is safe.
const TURN: Duration = Duration::from_millis(1);

/// Initial buffer size for each answer of a batch, in bytes.
const ANSWER: usize = 128;

/// Bytes of answers to WebSocket messages after which they are sent before more requests are answered.
const PIECE: usize = 64 << 10;

/// A call that was not quick: its method, seconds, bytes of its result.
type Slow = (&'static str, f64, usize);

/// Answers request bodies on the thread of the event loop, and only there.
///
/// A body qualifies if it is written in the plain form of [`read`], all its methods run at once and change
/// nothing, and every call succeeds. Methods that nearly always run at once ([`Cost::Short`]) qualify too,
/// unless this call would take long.
#[pyclass(name = "Inline", module = "foreseal._core", frozen)]
pub struct PyInline {
    api: Arc<Api>,
    rows: HashMap<&'static str, Row>,
    limits: Limits,
    /// Backoff of batches with calls that may be long.
    batches: Passing,
}

struct Limits {
    /// Largest answer, in bytes.
    response: usize,
    /// Deepest nesting of arrays and objects.
    depth: usize,
    /// Most calls in a batch.
    batch: usize,
    /// Longest time of a quick call. A longer one is returned to the caller with its time.
    quick: Duration,
}

/// A method, with the count and the time of its quick calls since the last `take`.
struct Row {
    method: &'static Method,
    left_out: AtomicBool,
    passing: Passing,
    calls: AtomicU64,
    nanos: AtomicU64,
}

/// Exponential backoff of methods or batches that recently exceeded the inline budget: one is skipped after
/// the first, twice as many after each further one.
#[derive(Default)]
struct Passing {
    /// Number of attempts still to be skipped.
    left: AtomicU32,
    /// Number of attempts skipped the last time.
    width: AtomicU32,
}

impl Passing {
    /// Most attempts skipped in a row.
    const MOST: u32 = 64;

    /// Returns `true` if the next attempt may run; counts those that are skipped.
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

/// Answers to a body, and its calls that were not quick.
struct Answers<'a> {
    json: Json<'a>,
    slow: Vec<Slow>,
}

/// JSON of the answers to a body.
enum Json<'a> {
    /// One answer in parts, which are copied only once, into the response.
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
    /// Serves the methods that run at once, or are tried inline, and are open to everyone.
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

    /// Answers `body` from `view`; returns `None` if it must take the slow path.
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

    /// Returns the rows of all `calls`. Most batches repeat one method, which is looked up once.
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
            // The end of one call is the start of the next: reading the clock has a cost.
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

    /// Counts a quick call; adds a slower one to `slow`.
    fn count(&self, row: &Row, took: Duration, size: usize, slow: &mut Vec<Slow>) {
        if took > self.limits.quick {
            slow.push((row.method.name, took.as_secs_f64(), size));
        } else {
            row.calls.fetch_add(1, Relaxed);
            row.nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        }
    }

    /// Returns the result of one call; `None` if it needs the slow path.
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

    /// Excludes `method`, if it exists, from the fast path from now on.
    fn leave_out(&self, method: &str) {
        if let Some(row) = self.rows.get(method) {
            row.left_out.store(true, Relaxed);
        }
    }

    /// Returns the quick calls since the last `take`, as (method, calls, seconds of them together).
    fn take(&self) -> Vec<(&'static str, u64, f64)> {
        let taken = self.rows.values().map(|row| {
            let (calls, nanos) = (row.calls.swap(0, Relaxed), row.nanos.swap(0, Relaxed));
            (row.method.name, calls, Duration::from_nanos(nanos).as_secs_f64())
        });
        taken.filter(|(_, calls, _)| *calls > 0).collect()
    }
}
