//! Mapping of all errors to JSON-RPC errors.

use std::{fmt, time::Duration};

use alloy_primitives::{Bytes, U256};
use foreseal_chain::{FeedError, ResolveError, StepCursor};
use foreseal_evm::{
    EstimateError, ExecutionError, OverrideError, RejectedTransaction, SimulateError, TraceLimit,
    halt_message,
};
use foreseal_node::ControlError;
use foreseal_pool::PoolError;
use foreseal_replication::SubmitError;
use foreseal_scheduler::Stopped;
use foreseal_state::StateError;
use serde::Deserialize;

use super::{
    development_error::DevelopmentError,
    error::{Error, Limit, LogLimit, LogLimitKind, ResponseSize, SyncError},
};
use crate::json::{
    cursor::write_cursor,
    hex::{write_data, write_quantity},
    object::Object,
    revert,
};

/// Message for a sender with insufficient funds, as worded in the specification.
const INSUFFICIENT_FUNDS: &str = "insufficient funds for gas * price + value";

/// JSON-RPC error object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    pub code: i64,
    /// Text, not yet escaped for JSON.
    pub message: String,
    /// JSON; `None` omits the field.
    pub data: Option<Vec<u8>>,
}

pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
const PARSE: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;
const SERVER: i64 = -32000;
const NOT_FOUND: i64 = -32001;
const UNAVAILABLE: i64 = -32002;
const LIMIT: i64 = -32005;
/// Code of the execution API for an exceeded simulation limit.
const SIMULATION_LIMIT: i64 = -38026;
/// Code of the execution API for an override that moves a precompiled contract to its own address.
const MOVED_TO_ITSELF: i64 = -38022;
/// Code of the execution API for a reverted `eth_call`.
const REVERTED: i64 = 3;
// Codes of EIP-7966.
const SYNC_TIMEOUT: i64 = 4;
const SYNC_NOT_EXECUTABLE: i64 = 5;
const SYNC_NONCE_GAP: i64 = 6;

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        match error {
            Error::UnknownMethod(name) => Self::method_not_found(&name, ""),
            Error::DevelopmentOnly(name) => {
                Self::method_not_found(name, ": it is served by development nodes only (foreseal dev)")
            }
            Error::AdminOnly(name) => {
                Self::method_not_found(name, ": it is served on the admin listener only (--admin)")
            }
            Error::Params(error) => Self::new(INVALID_PARAMS, error.to_string()),
            Error::Starting => Self::new(UNAVAILABLE, SubmitError::Starting.to_string()),
            Error::Reorganizing => Self::new(UNAVAILABLE, "the chain is being reorganized: try again"),
            Error::Resolve(error @ ResolveError::NotFound) => Self::new(NOT_FOUND, error.to_string()),
            Error::Resolve(error @ ResolveError::NotCanonical) => Self::new(SERVER, error.to_string()),
            Error::Range(error) => Self::new(INVALID_PARAMS, error.to_string()),
            Error::LogLimit(limit) => limit.into(),
            Error::Limit(Limit { name, max }) => Self::limit("the request has", name, max),
            Error::ResponseSize(size) => size.into(),
            Error::LargeAnswers(error) => Self::large_answers(error.max),
            Error::NeedsConnection(name) => {
                Self::method_not_found(name, ": it needs a WebSocket; connect to the same URL with ws://")
            }
            Error::Feed(FeedError::CursorGone { oldest }) => Self::cursor_gone(&oldest),
            Error::FilterNotFound => Self::new(SERVER, "filter not found"),
            Error::FiltersAway => {
                Self::new(UNAVAILABLE, "the sequencer is not reachable: filters wait until it is back")
            }
            Error::TooManyFilters { max } => Self::limit("another filter would be", "filters", max),
            Error::ArrivalsMissed { missed, max } => Self::limit(
                &format!("{missed} pending transactions were missed: the pool remembers no"),
                "arrivals",
                max,
            ),
            Error::LogsGone { from } => Self::logs_gone(from),
            Error::CallReverted(output) => Self::reverted(REVERTED, revert::message(&output), &output),
            Error::DetailedRevert(output) => Self::detailed_revert(REVERTED, &output),
            Error::DetailedEstimateRevert(output) => Self::detailed_revert(SERVER, &output),
            Error::CallHalted(reason) => Self::new(SERVER, halt_message(&reason)),
            Error::Call(error) => error.into(),
            Error::Estimate(error) => error.into(),
            Error::NoRecipient => {
                Self::new(INVALID_PARAMS, "a transaction with blobs or authorizations needs a recipient")
            }
            Error::CallGas { max } => Self::limit("execution needs", "gas", max),
            Error::Override(error) => error.into(),
            Error::Simulate(error) => error.into(),
            Error::SimulationBaseNotFound => Self::new(SERVER, "header not found"),
            Error::SimulationLimit(limit) => Self::new(SIMULATION_LIMIT, limit.to_string()),
            Error::Trace(error) => Self::new(SERVER, error.to_string()),
            Error::TraceLimit(limit) => limit.into(),
            Error::Submit(error) => error.into(),
            Error::Sync(error) => error.into(),
            Error::Unsigned(error) => Self::new(NOT_FOUND, error.to_string()),
            Error::Control(error) => error.into(),
            Error::Development(error) => error.into(),
            Error::State(error)
            | Error::Resolve(ResolveError::Read(error))
            | Error::Feed(FeedError::Read(error)) => error.into(),
            Error::Stopped(stopped) => stopped.into(),
            Error::TooSlowInline | Error::TooLargeInline | Error::Panicked => {
                Self::new(INTERNAL, "internal error")
            }
        }
    }
}

impl From<DevelopmentError> for RpcError {
    fn from(error: DevelopmentError) -> Self {
        let code = match error {
            DevelopmentError::UnknownAccount(_)
            | DevelopmentError::PayloadTransaction { .. }
            | DevelopmentError::CompressedState
            | DevelopmentError::State(_)
            | DevelopmentError::Payload(_) => SERVER,
            _ => INVALID_PARAMS,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Stopped> for RpcError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::TimeLimit(limit) => Self::limit("the call takes", "milliseconds", milliseconds(limit)),
            Stopped::Budget { retry_after } => {
                let mut data = Vec::new();
                let retry = milliseconds(retry_after).max(1).to_string();
                Object::open(&mut data).json("limit", "\"cpu\"").json("retryAfterMs", &retry).close();
                Self { data: Some(data), ..Self::new(LIMIT, stopped.to_string()) }
            }
            Stopped::LongOperation { max } => {
                Self::limit("one precompiled contract takes", "milliseconds", milliseconds(max))
            }
            Stopped::Overloaded { capacity } => Self::queue_full(capacity),
            Stopped::Displaced { threads } => {
                let mut data = Vec::new();
                limit_object(&mut data, "threads", threads as u64).json("retryAfterMs", "1000").close();
                Self { data: Some(data), ..Self::new(LIMIT, stopped.to_string()) }
            }
            Stopped::Cancelled => Self::new(UNAVAILABLE, stopped.to_string()),
            Stopped::Stopping => Self::stopping(),
        }
    }
}

impl From<ExecutionError> for RpcError {
    fn from(error: ExecutionError) -> Self {
        match error {
            ExecutionError::Rejected(RejectedTransaction::InsufficientFunds { have, needed }) => {
                Self::insufficient_funds(have, needed)
            }
            ExecutionError::Rejected(rejected) => Self::new(SERVER, rejected.to_string()),
            ExecutionError::State(error) => error.into(),
            ExecutionError::TimeLimit(limit) => {
                Self::limit("execution takes", "milliseconds", milliseconds(limit))
            }
            ExecutionError::Stopped(stopped) => stopped.into(),
            ExecutionError::TraceLimit(limit) => limit.into(),
            ExecutionError::SystemContract { .. }
            | ExecutionError::ResultTooLarge { .. }
            | ExecutionError::DepositLog
            | ExecutionError::Environment(_) => Self::new(INTERNAL, error.to_string()),
        }
    }
}

impl From<EstimateError> for RpcError {
    fn from(error: EstimateError) -> Self {
        match error {
            // Clients recognize a revert with code -32000 only by exactly this message and the presence of
            // `data`.
            EstimateError::Revert { output } => {
                Self::reverted(SERVER, "execution reverted".to_owned(), &output)
            }
            EstimateError::Halt { reason, .. } => Self::new(SERVER, halt_message(&reason)),
            EstimateError::GasExceedsAllowance { .. } => Self::new(SERVER, error.to_string()),
            EstimateError::GasCap { cap } => Self::limit("execution needs", "gas", cap),
            EstimateError::InsufficientFunds { have, needed } => Self::insufficient_funds(have, needed),
            EstimateError::Execution(error) => error.into(),
        }
    }
}

impl From<SimulateError> for RpcError {
    /// Maps errors of `eth_simulateV1` to the codes of the execution API.
    fn from(error: SimulateError) -> Self {
        let message = error.to_string();
        let code = match error {
            SimulateError::Number { .. } => -38020,
            SimulateError::Time { .. } => -38021,
            SimulateError::TooManyBlocks { .. } | SimulateError::GasLimit { .. } => SIMULATION_LIMIT,
            SimulateError::BlockGas { .. } => -38015,
            SimulateError::Invalid { error, .. } => invalid_transaction(&error),
            SimulateError::Execution(ExecutionError::TimeLimit(_)) => -32016,
            SimulateError::Execution(ExecutionError::SystemContract { .. } | ExecutionError::DepositLog) => {
                SERVER
            }
            SimulateError::Execution(error) => return error.into(),
            SimulateError::Override(error) => return error.into(),
        };
        Self::new(code, message)
    }
}

/// Returns the code of the execution API for a transaction that is invalid in a simulated block.
fn invalid_transaction(rejected: &RejectedTransaction) -> i64 {
    match rejected {
        RejectedTransaction::NonceTooLow { .. } => -38010,
        RejectedTransaction::NonceTooHigh { .. } => -38011,
        RejectedTransaction::FeeTooLow { .. } => -38012,
        RejectedTransaction::IntrinsicGas { .. } => -38013,
        RejectedTransaction::InsufficientFunds { .. } => -38014,
        RejectedTransaction::BlockGasExceeded { .. } => -38015,
        RejectedTransaction::SenderHasCode => -38024,
        RejectedTransaction::InitCodeTooLarge => -38025,
        // Codes as recorded in the test vectors of the execution API.
        RejectedTransaction::NonceOverflow => INTERNAL,
        RejectedTransaction::TipAboveFee => INVALID_PARAMS,
        RejectedTransaction::BlobGasExceeded { .. }
        | RejectedTransaction::FootprintExceeded { .. }
        | RejectedTransaction::GasCapExceeded { .. }
        | RejectedTransaction::BlobFeeTooLow { .. }
        | RejectedTransaction::ChainId
        | RejectedTransaction::SignatureForm
        | RejectedTransaction::UnsupportedType(_)
        | RejectedTransaction::DepositLog
        | RejectedTransaction::Other(_) => SERVER,
    }
}

impl From<OverrideError> for RpcError {
    fn from(error: OverrideError) -> Self {
        match error {
            OverrideError::NotPrecompile(_) | OverrideError::TargetOverridden(_) => {
                Self::new(SERVER, error.to_string())
            }
            OverrideError::MovedToItself(_) => Self::new(MOVED_TO_ITSELF, error.to_string()),
            OverrideError::State(error) => error.into(),
        }
    }
}

impl From<TraceLimit> for RpcError {
    fn from(limit: TraceLimit) -> Self {
        Self::limit("trace has", "bytes", limit.max as u64)
    }
}

impl From<PoolError> for RpcError {
    fn from(error: PoolError) -> Self {
        if let PoolError::State(error) = error {
            return error.into();
        }
        Self { data: numbers(&error.data()), ..Self::new(SERVER, error.message()) }
    }
}

impl From<SyncError> for RpcError {
    fn from(error: SyncError) -> Self {
        let mut data = Vec::new();
        let code = match &error {
            SyncError::Timeout { hash, .. } => {
                write_data(&mut data, hash.as_slice());
                SYNC_TIMEOUT
            }
            SyncError::NotExecutable { hash, .. } => {
                write_data(&mut data, hash.as_slice());
                SYNC_NOT_EXECUTABLE
            }
            SyncError::NonceGap { expected, .. } => {
                write_quantity(&mut data, *expected);
                SYNC_NONCE_GAP
            }
        };
        Self { data: Some(data), ..Self::new(code, error.to_string()) }
    }
}

impl From<SubmitError> for RpcError {
    fn from(error: SubmitError) -> Self {
        use SubmitError as S;
        match error {
            S::Refused(error) => error.into(),
            S::Unknown { hash } => {
                let mut data = Vec::with_capacity(68);
                write_data(&mut data, hash.as_slice());
                Self { data: Some(data), ..Self::new(UNAVAILABLE, error.to_string()) }
            }
            S::Busy { max } => Self::limit("there are", "submissions", max),
            S::Starting | S::Stopped(_) | S::Away | S::NoQuorum { .. } => {
                Self::new(UNAVAILABLE, error.to_string())
            }
        }
    }
}

impl From<ControlError> for RpcError {
    fn from(error: ControlError) -> Self {
        use ControlError as C;
        let code = match &error {
            C::TooMany { what, max } => return Self::limit("the request has", what, *max),
            C::Starting | C::Busy | C::Interrupted | C::Stopped(_) | C::Failed(_) => UNAVAILABLE,
            C::NoSuchBlock(_) => NOT_FOUND,
            C::Timestamp { .. } | C::Clock(_) => INVALID_PARAMS,
            C::Follower
            | C::NoQuorum
            | C::NotProducing
            | C::NotDevelopment
            | C::Finalized { .. }
            | C::Finality { .. }
            | C::NoDriver
            | C::ForkChoice(_)
            | C::Attributes(_)
            | C::Refused(_) => SERVER,
        };
        Self::new(code, error.to_string())
    }
}

impl From<StateError> for RpcError {
    fn from(error: StateError) -> Self {
        let code = match error {
            StateError::ViewGone | StateError::Pruned { .. } => NOT_FOUND,
            StateError::MissingCode(_)
            | StateError::Store(_)
            | StateError::NodeMissing { .. }
            | StateError::NodeHash { .. }
            | StateError::NodeMalformed { .. } => INTERNAL,
        };
        Self::new(code, error.to_string())
    }
}

/// Suffix of an error for logs that are too large for one result.
const PAGES: &str = "; foreseal_getLogs returns its logs in pages";

impl From<ResponseSize> for RpcError {
    fn from(ResponseSize { max, has_logs }: ResponseSize) -> Self {
        let mut error = Self::response_too_large(max);
        if has_logs {
            error.message.push_str(PAGES);
        }
        error
    }
}

impl From<LogLimit> for RpcError {
    fn from(limit: LogLimit) -> Self {
        let (name, max, unit) = match limit.kind {
            LogLimitKind::Logs { max } => ("logs", max, "logs"),
            LogLimitKind::Milliseconds { max } => ("milliseconds", max, "ms"),
            LogLimitKind::Bytes { max } => ("response", max, "bytes"),
        };
        let LogLimit { from, to, .. } = limit;
        // Indexers recognize the words of reth and of other nodes: see the page on libraries in the docs.
        let mut message = format!(
            "query exceeds max results {max}, retry with the range {from}-{to}: the limit is {max} {unit}. \
             Try with this block range or a smaller one"
        );
        if matches!(limit.kind, LogLimitKind::Bytes { .. }) {
            message.push_str(PAGES);
        }
        let mut data = Vec::new();
        limit_object(&mut data, name, max).quantity("fromBlock", from).quantity("toBlock", to).close();
        // Not `LIMIT`: libraries repeat a call with that code, which fails again.
        Self { data: Some(data), ..Self::new(INVALID_PARAMS, message) }
    }
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns the error for a method that the caller cannot use. Clients recognize the text, which is that of geth,
    /// so a hint follows it.
    fn method_not_found(name: &str, hint: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("the method {name} does not exist/is not available{hint}"))
    }

    /// Returns `true` if an unwind has replaced the blocks that the view of the call reads from the store.
    pub fn is_view_gone(&self) -> bool {
        self.code == NOT_FOUND && self.message == StateError::ViewGone.to_string()
    }

    /// Returns the time after which a call that was refused for a limit may be repeated; `None` if repeating it now is
    /// allowed, or never helps.
    pub fn retry_after(&self) -> Option<Duration> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            retry_after_ms: u64,
        }
        let data = self.data.as_ref().filter(|_| self.code == LIMIT)?;
        serde_json::from_slice(data).ok().map(|data: Data| Duration::from_millis(data.retry_after_ms))
    }

    /// Returns the error for a body that is not JSON.
    pub(crate) fn parse(error: &impl fmt::Display) -> Self {
        Self::new(PARSE, format!("parse error: {error}"))
    }

    /// Returns the error for JSON that is not a request.
    pub(crate) fn invalid_request(message: &str) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    /// Returns the error for parameters that no method accepts.
    pub(crate) fn invalid_params(message: &str) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// Returns the error for a request that exceeds the limit `name` of `max`.
    pub(crate) fn over_limit(name: &str, max: usize, message: String) -> Self {
        let mut data = Vec::new();
        limit_object(&mut data, name, max as u64).close();
        Self { data: Some(data), ..Self::new(LIMIT, message) }
    }

    /// Appends the error object as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.json("code", &self.code.to_string()).text("message", &self.message);
        if let Some(data) = &self.data {
            object.name("data").extend_from_slice(data);
        }
        object.close();
    }

    /// Returns the error for a request whose results exceed `max` bytes.
    pub fn response_too_large(max: usize) -> Self {
        Self::over_limit("response", max, format!("the response is larger than {max} bytes"))
    }

    /// Returns the error of a node that is stopping.
    pub fn stopping() -> Self {
        Self::new(UNAVAILABLE, "the node is stopping")
    }

    /// Returns the error for a full queue of `max` waiting calls.
    pub fn queue_full(max: usize) -> Self {
        Self::over_limit("queue", max, "too many calls are waiting".to_owned())
    }

    /// Returns the error for a large result while others of `max` bytes are in progress.
    fn large_answers(max: usize) -> Self {
        let mut data = Vec::new();
        limit_object(&mut data, "large_responses", max as u64).json("retryAfterMs", "1000").close();
        Self {
            data: Some(data),
            ..Self::new(LIMIT, "too many large responses are in progress: try again later")
        }
    }

    /// Returns the error for `what` exceeding the limit `name` of `max`, an integer in the unit of the name.
    fn limit(what: &str, name: &str, max: u64) -> Self {
        let mut data = Vec::new();
        limit_object(&mut data, name, max).close();
        let message = format!("{what} more than the limit of {max} {name}");
        Self { data: Some(data), ..Self::new(LIMIT, message) }
    }

    fn logs_gone(from: u64) -> Self {
        let message = "the block of the cursor is no longer on the chain and its logs are no longer available; drop what you \
                       hold from fromBlock on and query again from there without a cursor";
        let mut data = Vec::new();
        Object::open(&mut data).quantity("fromBlock", from).close();
        Self { data: Some(data), ..Self::new(NOT_FOUND, message) }
    }

    fn cursor_gone(oldest: &StepCursor) -> Self {
        let message = "the step of the cursor is not available: data has the oldest retained cursor";
        let mut data = Vec::new();
        let mut object = Object::open(&mut data);
        write_cursor(object.name("oldest"), oldest);
        object.close();
        Self { data: Some(data), ..Self::new(NOT_FOUND, message) }
    }

    fn reverted(code: i64, message: String, output: &Bytes) -> Self {
        let mut data = Vec::with_capacity(2 * output.len() + 4);
        write_data(&mut data, output);
        Self { code, message, data: Some(data) }
    }

    fn detailed_revert(code: i64, output: &Bytes) -> Self {
        Self::reverted(code, revert::detailed_message(output), output)
    }

    /// Returns the error for insufficient funds of a call or an estimate, not of a submission.
    ///
    /// The amounts in wei are in the message, because web3.py interprets any object in the `data` of these
    /// methods as a revert.
    fn insufficient_funds(have: U256, want: U256) -> Self {
        Self::new(SERVER, format!("{INSUFFICIENT_FUNDS}: have {have} want {want}"))
    }
}

/// Opens an object with the name and value of a limit; the caller closes it.
fn limit_object<'a>(data: &'a mut Vec<u8>, name: &str, max: u64) -> Object<'a> {
    let mut object = Object::open(data);
    object.json("limit", &format!("\"{name}\"")).json("max", &max.to_string());
    object
}

/// Converts a time limit to milliseconds for an error.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns an object of quantities, or `None` if there are none.
fn numbers(fields: &[(&'static str, U256)]) -> Option<Vec<u8>> {
    if fields.is_empty() {
        return None;
    }
    let mut data = Vec::new();
    let mut object = Object::open(&mut data);
    for (name, value) in fields {
        object.quantity(name, *value);
    }
    object.close();
    Some(data)
}
