//! Traces: transactions executed again with a recorder beside them.
//!
//! ```text
//! Replay::new ── begin block ──> skip ──> skip ──> trace ──> Trace
//!                                  │        └── the recorder of a `Tracer`; steps go to a `StepSink` at once
//!                                  └── executed as in any block
//! ```
//!
//! What is recorded, and the words of failures, are geth's; see
//! `docs/design/decisions/0033-traces-follow-geth.md` for where they are not.

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

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// Every instruction, to the replay's [`StepSink`].
    Steps(StepOptions),
    /// The tree of calls.
    Calls(CallOptions),
    /// The accounts that the transaction needs, or what it changes.
    Prestate(PrestateOptions),
    /// The selectors that calls name, each with the length of what follows it.
    FourByte,
    /// Nothing.
    Noop,
    /// Several at once, none of them [`Tracer::Steps`].
    Mux(Vec<Tracer>),
}

/// What a step shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in the request")]
pub struct StepOptions {
    pub memory: bool,
    pub no_stack: bool,
    pub no_storage: bool,
    pub return_data: bool,
    /// Most steps that are recorded; zero for all.
    pub limit: u64,
}

/// Which calls are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The transaction's own call alone.
    pub only_top: bool,
    /// With the logs that stay.
    pub logs: bool,
}

/// What is shown of accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in the request")]
pub struct PrestateOptions {
    /// What changes, before and after, in place of all that is needed.
    pub diff: bool,
    pub no_code: bool,
    pub no_storage: bool,
    /// Accounts that do not exist before are shown too.
    pub include_empty: bool,
}

/// What a [`Tracer`] recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// The steps went to the sink.
    Steps {
        /// Gas used, as in the receipt.
        gas: u64,
        failed: bool,
        /// Returned or reverted with; empty when it halted.
        output: Bytes,
    },
    /// The transaction's own call first, callees in order after their caller.
    Calls(Vec<Frame>),
    Prestate(Prestate),
    /// Selector, length of the rest of the input in bytes; how often.
    FourByte(BTreeMap<([u8; 4], usize), u64>),
    Noop,
    /// In the order asked for.
    Mux(Vec<Trace>),
}

/// What traces may take. A trace that takes more is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace has more than {max} bytes")]
pub struct TraceLimit {
    /// Bytes, of what is kept in memory while a trace is recorded or of what a sink takes.
    pub max: usize,
}
