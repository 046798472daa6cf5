//! Traces: re-execution of transactions with a recorder.
//!
//! ```text
//! Replay::new ── begin block ──> skip ──> skip ──> trace ──> Trace
//!                                  │        └── the recorder of a `Tracer`; steps go to a `StepSink` at once
//!                                  └── executed as in any block
//! ```
//!
//! Recorded fields and error messages follow geth; `docs/design/decisions/0033-traces-follow-geth.md` lists
//! the exceptions.

mod call;
mod calls;
mod fault;
mod prestate;
mod recorder;
mod replay;
mod steps;

use std::collections::BTreeMap;

use alloy_primitives::Bytes;

pub use call::trace_call;
pub use calls::{Frame, FrameKind, FrameLog};
pub use prestate::{AccountPart, Prestate};
pub use replay::Replay;
pub use steps::{Step, StepSink};

/// The kind of trace to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// Every instruction, passed to the replay's [`StepSink`].
    Steps(StepOptions),
    /// The call tree.
    Calls(CallOptions),
    /// The accounts that the transaction reads, or its changes.
    Prestate(PrestateOptions),
    /// The function selectors of calls, each with the length of the rest of the input.
    FourByte,
    /// Records nothing.
    Noop,
    /// Several tracers at once, none of them [`Tracer::Steps`].
    Mux(Vec<Tracer>),
}

/// Fields of a step to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in the request")]
pub struct StepOptions {
    pub memory: bool,
    pub no_stack: bool,
    pub no_storage: bool,
    pub return_data: bool,
    /// Maximum number of recorded steps; zero for all.
    pub limit: u64,
}

/// Options of the call tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Records only the transaction's own call.
    pub only_top: bool,
    /// Includes the logs that were not reverted.
    pub logs: bool,
}

/// Options of the prestate tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in the request")]
pub struct PrestateOptions {
    /// Records the changes, before and after, instead of all accounts read.
    pub diff: bool,
    pub no_code: bool,
    pub no_storage: bool,
    /// Includes accounts that do not exist before the transaction.
    pub include_empty: bool,
}

/// Output of a [`Tracer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// The steps were passed to the sink.
    Steps {
        /// Gas used, as in the receipt.
        gas: u64,
        failed: bool,
        /// Returned or revert data; empty if the transaction halted.
        output: Bytes,
    },
    /// The transaction's own call first, callees in order after their caller.
    Calls(Vec<Frame>),
    Prestate(Prestate),
    /// Number of calls by selector and length of the rest of the input in bytes.
    FourByte(BTreeMap<([u8; 4], usize), u64>),
    Noop,
    /// Traces in the order of the requested tracers.
    Mux(Vec<Trace>),
}

/// Size limit of a trace. A trace that exceeds it is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace has more than {max} bytes")]
pub struct TraceLimit {
    /// Maximum number of bytes, either recorded in memory or accepted by a sink.
    pub max: usize,
}
