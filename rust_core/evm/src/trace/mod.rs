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
mod limit;
mod options;
mod output;
mod prestate;
mod recorder;
mod replay;
mod steps;

pub use call::trace_call;
pub use calls::{CallFrame, FrameKind, FrameLog};
pub use limit::TraceLimit;
pub use options::{CallOptions, PrestateOptions, StepOptions, Tracer};
pub use output::Trace;
pub use prestate::{AccountPart, Prestate};
pub use replay::TransactionReplay;
pub use steps::{InstructionStep, StepSink};
