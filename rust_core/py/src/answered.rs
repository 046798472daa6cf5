//! Responses of the core, as Python receives them.

use foreseal_rpc::{BodyReply, SlowCall};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::freshness::Freshness;
use crate::large_result::PyLargeResult;

/// Size in bytes from which a result is not copied into its response.
const LARGE: usize = PyLargeResult::MIN_SIZE;

/// Calls that were not quick: their method, seconds of each, bytes of the results together, number.
pub type Slow = (&'static str, f64, usize, usize);

/// HTTP status of a response without an error.
const OK: u16 = 200;

pub fn slow_calls(slow: Vec<SlowCall>) -> Vec<Slow> {
    let row = |SlowCall { method, time, size, calls }| (method, time.as_secs_f64(), size, calls);
    slow.into_iter().map(row).collect()
}

/// Response that is not both OK and quick.
#[pyclass(name = "Answered", module = "foreseal._core", frozen, get_all)]
pub struct PyAnswered {
    /// HTTP status of the response.
    status: u16,
    /// JSON of the response: `bytes`, or a `LargeAnswer`. With status 200, bytes are a whole HTTP response if its head
    /// was given.
    response: Py<PyAny>,
    /// Seconds after which the caller may retry; 0: not stated.
    seconds: u64,
    /// Freshness of the view like `Node.freshness`.
    view: (u64, u64, u64, u64),
    /// Calls that were not quick: method, seconds of each, bytes of the results together, number.
    slow: Vec<Slow>,
}

/// Returns the response from a view of this freshness: `bytes` if it is OK and quick, otherwise an `Answered`.
pub fn py_reply<'py>(
    py: Python<'py>,
    reply: BodyReply<'_>,
    freshness: Freshness,
    head: Option<&[u8]>,
) -> PyResult<Bound<'py, PyAny>> {
    let BodyReply { status, json, slow } = reply;
    let parts = json.segments();
    let response = match (json.large_result(LARGE), head) {
        (Some(result), _) => {
            let [first, id, member, _, last] = parts;
            PyLargeResult::within_parts(py, result.clone(), &[first, id, member].concat(), last)?
        }
        (_, Some(head)) if status.code == OK => {
            let [first, id, member, value, last] = parts;
            let lines = freshness.lines(json.size());
            joined(py, &[head, lines.as_bytes(), first, id, member, value, last])?.into_any()
        }
        _ => joined(py, &parts)?.into_any(),
    };
    if status.code == OK && slow.is_empty() && response.is_instance_of::<PyBytes>() {
        return Ok(response);
    }
    let answered = PyAnswered {
        status: status.code,
        response: response.unbind(),
        seconds: status.retry_after,
        view: freshness.numbers(),
        slow: slow_calls(slow),
    };
    Ok(Bound::new(py, answered)?.into_any())
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
