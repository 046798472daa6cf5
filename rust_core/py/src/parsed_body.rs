//! Request bodies whose calls Python decides on: parsed by the core, exported to Python.

use foreseal_rpc::RpcError;
use foreseal_rpc::envelope::{BodyLimits, ParsedCall, parse_any};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::rpc_error;
use crate::input::Input;

/// One entry of a request body.
#[pyclass(name = "ParsedCall", module = "foreseal._core", frozen, get_all)]
pub struct PyParsedCall {
    /// JSON of the id; None for a notification.
    id: Option<Py<PyBytes>>,
    /// Name of the method; empty if the request is invalid.
    method: Py<PyString>,
    /// JSON array.
    params: Py<PyBytes>,
    /// RpcError if the request is invalid.
    error: Option<Py<PyAny>>,
}

/// A request body: its calls, or the error of the whole body.
#[pyclass(name = "ParsedBody", module = "foreseal._core", frozen, get_all)]
pub struct PyParsedBody {
    is_batch: bool,
    calls: Vec<Py<PyParsedCall>>,
    /// RpcError if the body is rejected as a whole; then there are no calls.
    error: Option<Py<PyAny>>,
}

fn error_object(py: Python<'_>, error: RpcError) -> Py<PyAny> {
    rpc_error(error).into_value(py).into_any()
}

impl PyParsedCall {
    fn new(py: Python<'_>, call: ParsedCall<'_>) -> PyResult<Py<Self>> {
        let (method, params, error) = match call.request {
            Ok(request) => (request.method, request.params, None),
            Err(error) => (String::new(), "[]", Some(error_object(py, error))),
        };
        let id = call.id.map(|id| PyBytes::new(py, id.as_bytes()).unbind());
        let params = PyBytes::new(py, params.as_bytes()).unbind();
        Py::new(py, Self { id, method: PyString::new(py, &method).unbind(), params, error })
    }
}

impl PyParsedBody {
    /// Parses `body`.
    pub fn new(py: Python<'_>, body: &[u8], limits: &BodyLimits) -> PyResult<Self> {
        match parse_any(body, limits) {
            Ok(parsed) => {
                let calls = parsed.calls.into_iter().map(|call| PyParsedCall::new(py, call));
                Ok(Self { is_batch: parsed.is_batch, calls: calls.collect::<PyResult<_>>()?, error: None })
            }
            Err(error) => {
                Ok(Self { is_batch: false, calls: Vec::new(), error: Some(error_object(py, error)) })
            }
        }
    }
}

/// Parses a request body. It may have at most `values` JSON values, counted by brackets and commas, `depth` nested
/// arrays and objects, and `batch` entries.
#[pyfunction]
#[pyo3(signature = (body, *, values, depth, batch))]
pub fn parse_body(
    py: Python<'_>,
    body: Input<'_>,
    values: usize,
    depth: usize,
    batch: usize,
) -> PyResult<PyParsedBody> {
    PyParsedBody::new(py, &body, &BodyLimits { values, depth, batch })
}
