//! The short way of nearly all calls: from the bytes of a body to the bytes of its answer, in one go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use alloy_primitives::map::HashMap;
use foreseal_node::View;
use foreseal_rpc::plain::{Body, Plain, read};
use foreseal_rpc::{Access, Api, Cost, Method, methods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::input::Input;

/// A batch that takes longer is begun anew, in turns with other requests: what it asks changes nothing.
const TURN: Duration = Duration::from_millis(1);

/// What is said of a call that was not quick: its method, seconds, bytes of its result.
type Slow = (&'static str, f64, usize);

/// Answers bodies whose calls are all of methods that run at once and change nothing, are written plainly and end well.
/// To be used by the thread of the event loop alone.
#[pyclass(name = "Inline", module = "foreseal._core", frozen)]
pub struct PyInline {
    api: Arc<Api>,
    rows: HashMap<&'static str, Row>,
    limits: Limits,
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
    calls: AtomicU64,
    nanos: AtomicU64,
}

/// Answers, as they are put together.
struct Answers {
    json: Vec<u8>,
    slow: Vec<Slow>,
}

impl PyInline {
    /// Takes what runs at once and is for everyone.
    pub fn new(api: Arc<Api>, response: usize, depth: usize, batch: usize, quick: Duration) -> Self {
        let taken =
            methods().filter(|method| (method.cost, method.access) == (Cost::Inline, Access::Everyone));
        let row = |method| Row {
            method,
            left_out: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        };
        let rows = taken.map(|method| (method.name, row(method))).collect();
        Self { api, rows, limits: Limits { response, depth, batch, quick } }
    }

    /// The answers to `body` from `view`; `None` where it has to go the long way.
    fn run(&self, view: Option<&Arc<View>>, body: &[u8]) -> Option<Answers> {
        let mut answers = Answers { json: Vec::new(), slow: Vec::new() };
        match read(body, self.limits.depth, self.limits.batch)? {
            Body::Call(call) => {
                let row = self.row(&call)?;
                let (took, size) = self.add(view, row, &call, &mut answers.json)?;
                self.count(row, took, size, &mut answers.slow);
            }
            Body::Batch(calls) => self.run_batch(view, &calls, &mut answers)?,
        }
        Some(answers)
    }

    fn row(&self, call: &Plain<'_>) -> Option<&Row> {
        self.rows.get(call.method).filter(|row| !row.left_out.load(Relaxed))
    }

    fn run_batch(&self, view: Option<&Arc<View>>, calls: &[Plain<'_>], answers: &mut Answers) -> Option<()> {
        let rows: Vec<&Row> = calls.iter().map(|call| self.row(call)).collect::<Option<_>>()?;
        let (mut taken, mut all) = (Vec::with_capacity(calls.len()), Duration::ZERO);
        for (row, call) in rows.iter().zip(calls) {
            answers.json.push(if taken.is_empty() { b'[' } else { b',' });
            let (took, size) = self.add(view, row, call, &mut answers.json)?;
            all += took;
            if all > TURN || answers.json.len() > self.limits.response {
                return None;
            }
            taken.push((took, size));
        }
        answers.json.push(b']');
        for (row, (took, size)) in rows.iter().zip(taken) {
            self.count(row, took, size, &mut answers.slow);
        }
        Some(())
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

    /// Adds the answer to one call; its time and the bytes of its result.
    fn add(
        &self,
        view: Option<&Arc<View>>,
        row: &Row,
        call: &Plain<'_>,
        json: &mut Vec<u8>,
    ) -> Option<(Duration, usize)> {
        let begun = Instant::now();
        let result = self.api.run(view, row.method, call.params.as_bytes()).ok()?;
        let took = begun.elapsed();
        if result.len() > self.limits.response {
            return None;
        }
        json.reserve(40 + call.id.len() + result.len());
        json.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        json.extend_from_slice(call.id.as_bytes());
        json.extend_from_slice(b",\"result\":");
        json.extend_from_slice(&result);
        json.push(b'}');
        Some((took, result.len()))
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
        let node = self.api.node();
        let age = head.is_some().then(|| node.age().as_millis());
        let view = node.view();
        let Some(answers) = data.get(start..).and_then(|body| self.run(view.as_ref(), body)) else {
            return Ok(None);
        };
        let Answers { json, slow } = answers;
        let Some(head) = head else { return Ok(Some((PyBytes::new(py, &json), slow))) };
        let (block, step) = view.map_or((0, 0), |view| (view.pending().number(), view.pending_index()));
        let (age, length) = (age.unwrap_or_default(), json.len());
        let lines = format!("x-foreseal-view: {block}.{step}; age={age}\r\ncontent-length: {length}\r\n\r\n");
        let parts = [&*head, lines.as_bytes(), &json];
        let whole = PyBytes::new_with(py, parts.iter().map(|part| part.len()).sum(), |mut bytes| {
            for part in parts {
                let (here, rest) = bytes.split_at_mut(part.len());
                here.copy_from_slice(part);
                bytes = rest;
            }
            Ok(())
        })?;
        Ok(Some((whole, slow)))
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
