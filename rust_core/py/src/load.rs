//! The load generator behind `foreseal.bench`.

use std::net::SocketAddr;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_loadgen::{
    FailedResponse, LoadError, Pace, Plan, Responder, ResponseReader, RunMetrics, Signer, Subscribers,
    Target, TransferSpec, Transport, run,
};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};

use crate::errors::GeneratorError;
use crate::input::Input;
use crate::progress::watching;

/// A transaction to sign: 20 bytes of `to` or None, wei, gas, data.
type PyOrder = (Option<[u8; 20]>, u128, u64, PyBackedBytes);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PyPlan {
    connections: usize,
    seconds: f64,
    patience: f64,
    /// Requests a second; `None` is a closed loop.
    rate: Option<f64>,
    once: bool,
    error_code: Option<i64>,
}

#[derive(Serialize)]
struct PyRunMetrics<'a> {
    answered: u64,
    errors: u64,
    unanswered: u64,
    seconds: f64,
    smallest: usize,
    largest: usize,
    received: u64,
    reopened: u64,
    /// Pairs of nanoseconds and a count.
    latency: Vec<(u64, u64)>,
    late: Vec<(u64, u64)>,
    first_wrong: Option<&'a FailedResponse>,
}

impl<'a> From<&'a RunMetrics> for PyRunMetrics<'a> {
    fn from(metrics: &'a RunMetrics) -> Self {
        Self {
            answered: metrics.answered,
            errors: metrics.errors,
            unanswered: metrics.unanswered,
            seconds: metrics.seconds,
            smallest: metrics.smallest,
            largest: metrics.largest,
            received: metrics.received,
            reopened: metrics.reopened,
            latency: metrics.latency.counts(),
            late: metrics.late.counts(),
            first_wrong: metrics.first_wrong.as_ref(),
        }
    }
}

/// A load generator for the node at `address`, an IP address and a port; `host` and `path` are those of its
/// URL.
///
/// Raises ValueError, naming the invalid argument.
#[pyclass(name = "Load", module = "foreseal._core", frozen)]
pub struct PyLoad {
    target: Target,
    transport: Transport,
}

#[pymethods]
impl PyLoad {
    #[new]
    fn new(address: &str, host: &str, path: &str, websocket: bool) -> PyResult<Self> {
        let transport = if websocket { Transport::WebSocket } else { Transport::Http };
        Ok(Self { target: target(address, host, path)?, transport })
    }

    /// Sends `bodies` in rotation according to `plan`, a JSON object: connections, seconds, patience
    /// (seconds), rate (requests a second, or null for a closed loop), once (each body one time) and error_code
    /// (with which every call must fail, or null). Returns the results as JSON; times are in nanoseconds
    /// except `seconds`. `progress` is called with the number of answers about ten times a second.
    ///
    /// Raises OSError if the node cannot be reached, ValueError for an invalid plan, and exceptions from
    /// `progress`, such as Ctrl-C.
    fn run<'py>(
        &self,
        py: Python<'py>,
        plan: Input<'_>,
        bodies: Vec<PyBackedBytes>,
        progress: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let plan: PyPlan =
            serde_json::from_slice(&plan).map_err(|error| argument("plan", error.to_string()))?;
        let pace = match (plan.once, plan.rate) {
            (true, Some(_)) => return Err(argument("plan", "once has no rate".to_owned()).into()),
            (true, None) => Pace::Once,
            (false, None) => Pace::Closed,
            (false, Some(rate)) => Pace::Open { rate },
        };
        let plan = Plan {
            target: self.target.clone(),
            transport: self.transport,
            bodies: bodies.iter().map(|body| body.to_vec()).collect(),
            error_code: plan.error_code,
            connections: plan.connections,
            pace,
            length: time("seconds", plan.seconds)?,
            patience: time("patience", plan.patience)?,
        };
        let metrics = watching(py, progress, |progress| {
            let metrics = run(&plan, &mut |done| progress.report(true, (done,)).is_continue());
            metrics.map_err(GeneratorError::from)
        })?;
        json(py, &PyRunMetrics::from(&metrics))
    }
}

/// Open WebSocket connections to the node at `address`, `count` of them. Each sent `body`, a call of
/// eth_subscribe, and received its answer within `patience` seconds.
///
/// Raises OSError and ValueError.
#[pyclass(name = "Subscribers", module = "foreseal._core", frozen)]
pub struct PySubscribers {
    subscribers: Mutex<Subscribers>,
}

#[pymethods]
impl PySubscribers {
    #[new]
    fn new(
        py: Python<'_>,
        address: &str,
        host: &str,
        path: &str,
        body: PyBackedBytes,
        count: usize,
        patience: f64,
    ) -> PyResult<Self> {
        let plan = Plan {
            target: target(address, host, path)?,
            transport: Transport::WebSocket,
            bodies: vec![body.to_vec()],
            error_code: None,
            connections: count,
            pace: Pace::Once,
            length: Duration::ZERO,
            patience: time("patience", patience)?,
        };
        let subscribers = py.detach(|| Subscribers::open(&plan)).map_err(GeneratorError::from)?;
        Ok(Self { subscribers: Mutex::new(subscribers) })
    }

    /// Receives notifications until each connection has `each` of them or `seconds` have passed. Returns JSON
    /// with notifications, received (bytes), min, max, seconds, ended and first_end. `progress` is called
    /// with the number of notifications.
    ///
    /// Raises OSError, ValueError and exceptions from `progress`.
    fn listen<'py>(
        &self,
        py: Python<'py>,
        each: u64,
        seconds: f64,
        progress: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let length = time("seconds", seconds)?;
        let arrivals = watching(py, progress, |progress| {
            let mut keep_going = |done: u64| progress.report(true, (done,)).is_continue();
            self.subscribers.lock().listen(each, length, &mut keep_going).map_err(GeneratorError::from)
        })?;
        json(py, &arrivals)
    }
}

/// A server on a free port of this machine that returns the same result for every call, over HTTP and
/// WebSocket. The rate that the generator reaches against it is the generator's own limit.
///
/// Raises OSError.
#[pyclass(name = "Responder", module = "foreseal._core", frozen)]
pub struct PyResponder {
    address: SocketAddr,
    responder: Mutex<Option<Responder>>,
}

#[pymethods]
impl PyResponder {
    #[new]
    fn new() -> PyResult<Self> {
        let responder = Responder::start()?;
        Ok(Self { address: responder.address(), responder: Mutex::new(Some(responder)) })
    }

    /// Returns the IP address and port that the server listens on.
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Stops the server. A second call does nothing.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.responder.lock().take()));
    }
}

/// Parses the HTTP response that `data` begins with into status, body and number of bytes; None while it is
/// incomplete. `ended` means that no more bytes will come.
///
/// Raises ValueError if it is not an HTTP response.
#[pyfunction]
pub fn read_answer<'py>(
    py: Python<'py>,
    data: &[u8],
    ended: bool,
) -> PyResult<Option<(u16, Bound<'py, PyBytes>, usize)>> {
    let mut reader = ResponseReader::default();
    let answer = reader.read(data, ended).map_err(|bad| PyValueError::new_err(bad.to_string()))?;
    Ok(answer.map(|answer| (answer.status, PyBytes::new(py, reader.body(&answer, data)), answer.end)))
}

/// Signs EIP-1559 transactions with the nonces from `nonce` on, using `key` (32 bytes). Returns the EIP-2718
/// bytes and the hash of each.
///
/// `fees` are the maximum fee and the tip, in wei a gas. An order is `to` (20 bytes, or None to create a
/// contract), wei, gas and data. Raises ValueError if the key is invalid.
#[pyfunction]
pub fn sign_transactions(
    py: Python<'_>,
    key: [u8; 32],
    chain_id: u64,
    fees: (u128, u128),
    nonce: u64,
    orders: Vec<PyOrder>,
) -> PyResult<Vec<(Bound<'_, PyBytes>, Bound<'_, PyBytes>)>> {
    let signer = Signer { key: B256::from(key), chain_id, max_fee: fees.0, tip: fees.1 };
    let orders: Vec<TransferSpec> = orders
        .into_iter()
        .map(|(to, wei, gas, data)| TransferSpec {
            to: to.map(Address::from),
            value: U256::from(wei),
            gas,
            data: Bytes::copy_from_slice(&data),
        })
        .collect();
    let signed = py.detach(|| signer.sign(nonce, &orders)).map_err(GeneratorError::from)?;
    Ok(signed.iter().map(|one| (PyBytes::new(py, &one.raw), PyBytes::new(py, one.hash.as_slice()))).collect())
}

fn target(address: &str, host: &str, path: &str) -> Result<Target, GeneratorError> {
    let parsed = address
        .parse()
        .map_err(|_| argument("address", format!("{address:?} is not an IP address and port")))?;
    Ok(Target::new(parsed, host, path)?)
}

fn time(name: &'static str, seconds: f64) -> Result<Duration, GeneratorError> {
    Duration::try_from_secs_f64(seconds).map_err(|error| argument(name, error.to_string()))
}

fn argument(name: &'static str, why: String) -> GeneratorError {
    GeneratorError::Argument { name, why }
}

fn json<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    let bytes =
        serde_json::to_vec(value).map_err(|error| GeneratorError::from(LoadError::Poll(error.into())))?;
    Ok(PyBytes::new(py, &bytes))
}
