//! Traces: re-execution of transactions with a recorder.
//!
//! ```text
//! Replay::new ── begin block ──> skip ──> skip ──> trace ──> Trace
//!                                  │        └── the recorder of a `Tracer`; steps go to a `StructLogSink` at once
//!                                  └── executed as in any block
//! ```
//!
//! Recorded fields and error messages follow geth; `docs/design/decisions/traces.md` lists the exceptions.

mod call;
mod call_tree;
mod error_message;
mod options;
mod prestate;
mod recorder;
mod replay;
mod struct_log;
mod trace_result;

pub use call::trace_call;
pub use call_tree::{CallFrame, FrameKind, FrameLog};
pub use error_message::halt_message;
pub use options::{CallOptions, PrestateOptions, StructLogOptions, Tracer};
pub use prestate::{AccountState, Prestate};
pub use replay::TransactionReplay;
pub use struct_log::{StructLog, StructLogSink};
pub use trace_result::Trace;
