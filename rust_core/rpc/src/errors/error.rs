//! Errors of the methods.

use std::time::Duration;

use alloy_primitives::{B256, Bytes};
use foreseal_chain::{FeedError, ResolveError};
use foreseal_evm::{EstimateError, ExecutionError, HaltReason, OverrideError, SimulateError, TraceLimit};
use foreseal_node::ControlError;
use foreseal_replication::SubmitError;
use foreseal_scheduler::Stopped;
use foreseal_state::StateError;

use super::{development_error::DevelopmentError, unsigned_error::UnsignedError};
use crate::{json::large_answers::TooManyLargeAnswers, params::invalid::ParamsError};

/// Error that a method returns in place of a result.
#[derive(Debug)]
pub enum Error {
    UnknownMethod(String),
    /// The method is available on development nodes only.
    DevelopmentOnly(&'static str),
    /// The method is available on the admin listener only.
    AdminOnly(&'static str),
    Params(ParamsError),
    /// The journal is being replayed: there is no view yet.
    Starting,
    /// The chain was unwound, and the view after that is not published yet.
    Reorganizing,
    Resolve(ResolveError),
    Range(RangeError),
    LogLimit(LogLimit),
    Limit(Limit),
    /// The result would be larger than the caller may request.
    ResponseSize(ResponseSize),
    LargeAnswers(TooManyLargeAnswers),
    FilterNotFound,
    /// The process that stores the filters is unreachable.
    FiltersAway,
    /// The method needs a persistent connection (WebSocket).
    NeedsConnection(&'static str),
    Feed(FeedError),
    TooManyFilters {
        max: u64,
    },
    /// `missed` arrivals of transactions since the last poll of a filter were evicted from the buffer, which
    /// holds `max`.
    ArrivalsMissed {
        missed: u64,
        max: u64,
    },
    /// The last block that a log reader has seen left the chain, and the record of that reorg was evicted.
    /// The reader can restart at block `from`; earlier blocks have not changed.
    LogsGone {
        from: u64,
    },
    CallReverted(Bytes),
    /// A call or a transaction reverted, and the message also names a custom error.
    DetailedRevert(Bytes),
    /// An estimate reverted on a chain whose messages have the reason.
    DetailedEstimateRevert(Bytes),
    CallHalted(HaltReason),
    Call(ExecutionError),
    Estimate(EstimateError),
    /// A transaction with blobs or authorizations would create a contract.
    NoRecipient,
    /// The call needs more gas than one request may use.
    CallGas {
        max: u64,
    },
    Override(OverrideError),
    Simulate(SimulateError),
    /// The block to simulate on does not exist.
    SimulationBaseNotFound,
    SimulationLimit(SimulationLimit),
    Trace(TraceError),
    TraceLimit(TraceLimit),
    Submit(SubmitError),
    Sync(SyncError),
    Control(ControlError),
    Development(DevelopmentError),
    Unsigned(UnsignedError),
    State(StateError),
    /// The scheduler ended the job.
    Stopped(Stopped),
    /// An attempt reached its limits; see [`Api::attempt`](crate::Api::attempt). Never returned to a caller.
    TooSlowInline,
    /// The result is too large for the receiving thread. Never returned to a caller.
    TooLargeInline,
    /// A method panicked; the log has the details.
    Panicked,
}

impl Error {
    /// Returns `true` if an attempt ended at its limits: the call may still succeed in the worker pool.
    pub(crate) fn is_too_slow_inline(&self) -> bool {
        matches!(
            self,
            Self::TooSlowInline
                | Self::LogLimit(_)
                | Self::Call(ExecutionError::TimeLimit(_))
                | Self::Estimate(EstimateError::Execution(ExecutionError::TimeLimit(_)))
        )
    }
}

/// Error of a submission that waits for its receipt (EIP-7966).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    #[error("the transaction is pooled, but was not pre-confirmed within {} ms", waited.as_millis())]
    Timeout { hash: B256, waited: Duration },
    /// The pool rejected the transaction, or dropped it in the meantime.
    #[error("the transaction cannot be executed: {reason}")]
    NotExecutable { hash: B256, reason: String },
    /// The pool rejected the transaction.
    #[error("the transaction has nonce {nonce}, but the sender's next one is {expected}")]
    NonceGap { nonce: u64, expected: u64 },
}

/// Error for a trace of something that cannot be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("genesis is not traceable")]
    Genesis,
    #[error("block {hash} not found")]
    BlockNotFound { hash: B256 },
    #[error("transaction not found")]
    TransactionNotFound,
    #[error("transaction index {index} out of range for block {block}")]
    Index { index: u64, block: B256 },
}

/// Error for an invalid range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    #[error("invalid block range params")]
    Reversed,
    #[error("block range extends beyond current head block")]
    BeyondHead,
}

/// Error for a simulation that exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationLimit {
    #[error("too many calls in a block: at most {max}")]
    BlockCalls { max: usize },
    #[error("too many calls: at most {max}")]
    Calls { max: usize },
}

/// Error for a log query that exceeds a limit, with the range from its start that can be queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimit {
    pub kind: LogLimitKind,
    pub from: u64,
    pub to: u64,
}

/// Limit that a log query exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLimitKind {
    Logs { max: u64 },
    Milliseconds { max: u64 },
    Bytes { max: u64 },
}

/// Error for a result that would exceed the caller's limit; nothing of it was rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseSize {
    /// Limit in bytes.
    pub max: usize,
    /// `true` if `foreseal_getLogs` returns the content in pages.
    pub has_logs: bool,
}

/// Limit on the number of entries in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limited entries, as in `data`.
    pub name: &'static str,
    pub max: u64,
}

impl Limit {
    /// Returns an error if `count` exceeds `max`.
    pub fn check(self, count: usize) -> Result<(), Error> {
        if u64::try_from(count).is_ok_and(|count| count <= self.max) { Ok(()) } else { Err(self.into()) }
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {
        $(impl From<$source> for Error {
            fn from(error: $source) -> Self {
                Self::$variant(error)
            }
        })*
    };
}

from! {
    ParamsError => Params,
    ResolveError => Resolve,
    RangeError => Range,
    LogLimit => LogLimit,
    Limit => Limit,
    ResponseSize => ResponseSize,
    TooManyLargeAnswers => LargeAnswers,
    ExecutionError => Call,
    EstimateError => Estimate,
    OverrideError => Override,
    SimulateError => Simulate,
    SimulationLimit => SimulationLimit,
    TraceError => Trace,
    TraceLimit => TraceLimit,
    SubmitError => Submit,
    SyncError => Sync,
    ControlError => Control,
    FeedError => Feed,
    DevelopmentError => Development,
    UnsignedError => Unsigned,
    StateError => State,
    Stopped => Stopped,
}
