//! Every way in which a method fails.

use alloy_primitives::{B256, Bytes};
use foreseal_evm::{EstimateError, ExecutionError, HaltReason, OverrideError, SimulateError, TraceLimit};
use foreseal_node::{ControlError, FeedError, ResolveError, SubmitError};
use foreseal_scheduler::Stopped;
use foreseal_state::StateError;

use crate::{DevelopmentError, SyncError, UnsignedError, params::ParamsError};

/// Why a method has no answer.
#[derive(Debug)]
pub enum Error {
    UnknownMethod(String),
    /// The method is for development nodes.
    DevelopmentOnly(&'static str),
    /// The method is for the admin listener.
    AdminOnly(&'static str),
    Params(ParamsError),
    /// The journal is being replayed: there is no view yet.
    Starting,
    Resolve(ResolveError),
    Range(RangeError),
    LogLimit(LogLimit),
    Limit(Limit),
    FilterNotFound,
    /// The process that keeps the filters cannot be reached.
    FiltersAway,
    /// The method belongs to a connection that stays.
    NeedsConnection(&'static str),
    Feed(FeedError),
    TooManyFilters {
        max: u64,
    },
    /// So many transactions entered the pool since a filter was asked that `missed` of them are forgotten.
    ArrivalsMissed {
        missed: u64,
        max: u64,
    },
    /// What a reader of logs has seen is not on the chain, and what became of it is not kept. It can begin again at block
    /// `from`, up to which nothing has changed.
    LogsGone {
        from: u64,
    },
    CallReverted(Bytes),
    CallHalted(HaltReason),
    Call(ExecutionError),
    Estimate(EstimateError),
    /// A call needs more gas than one request may have.
    CallGas {
        max: u64,
    },
    Override(OverrideError),
    Simulate(SimulateError),
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
    /// An attempt came to its limits; see [`Api::attempt`](crate::Api::attempt). No caller sees it.
    Long,
    /// A method panicked; the log has the details.
    Panicked,
}

impl Error {
    /// Whether an attempt ended by its limits: with others there may be an answer.
    pub(crate) fn is_long(&self) -> bool {
        matches!(
            self,
            Self::Long
                | Self::LogLimit(_)
                | Self::Call(ExecutionError::TimeLimit(_))
                | Self::Estimate(EstimateError::Execution(ExecutionError::TimeLimit(_)))
        )
    }
}

/// Why there is nothing to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("genesis is not traceable")]
    Genesis,
    #[error("transaction not found")]
    TransactionNotFound,
    #[error("transaction index {index} out of range for block {block}")]
    Index { index: u64, block: B256 },
}

/// A range of blocks that holds none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    #[error("invalid block range params")]
    Reversed,
    #[error("block range extends beyond current head block")]
    BeyondHead,
}

/// A simulation that asks for too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationLimit {
    #[error("too many calls in a block: at most {max}")]
    BlockCalls { max: usize },
    #[error("too many calls: at most {max}")]
    Calls { max: usize },
}

/// A query for logs that asks for too much, and the range from its start that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimit {
    pub kind: LogLimitKind,
    pub from: u64,
    pub to: u64,
}

/// Which limit a query for logs went beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLimitKind {
    Logs { max: u64 },
    Milliseconds { max: u64 },
}

/// More of something than one request may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What there is too much of, as `data` names it.
    pub name: &'static str,
    pub max: u64,
}

impl Limit {
    /// Refuses more than `max`.
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
