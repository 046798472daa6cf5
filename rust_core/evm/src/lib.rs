#![doc = include_str!("../README.md")]

mod access_list;
mod block;
mod block_error;
mod cache;
mod call;
mod context;
mod costly_instructions;
mod dao_fork;
mod deadline;
mod deposits;
mod difficulty;
mod environment;
mod error;
mod estimate;
mod executor;
mod header;
mod interruption;
mod machine;
mod named_precompiles;
mod net_sstore;
mod overrides;
mod precompiles;
mod rewards;
mod simulate;
mod system;
mod trace;
mod typed;
mod watch;

pub use access_list::{AccessListOutcome, create_access_list};
pub use block::{Executed, execute_block};
pub use block_error::BlockError;
pub use call::{CallLimits, CallOutcome, CallRequest, call};
pub use dao_fork::{DAO_ACCOUNTS, DAO_BENEFICIARY};
pub use deadline::Deadline;
pub use difficulty::difficulty_after;
pub use environment::Environment;
pub use error::{ExecutionError, Rejected};
pub use estimate::{EstimateError, estimate};
pub use executor::{BlockGas, Executor};
pub use named_precompiles::named_precompiles;
pub use overrides::{
    AccountOverride, BlockOverrides, Overlay, Overridden, OverrideError, StateOverrides, StorageOverride,
};
pub use precompiles::MovedPrecompiles;
pub use revm::context_interface::result::HaltReason;
pub use simulate::{
    BlockRequest, Ending, SimulateBase, SimulateError, SimulateOptions, SimulatedBlock, SimulatedCall,
    SimulatedResult, simulate,
};
pub use system::{BlockBody, EndOfBlock, end_block};
pub use trace::{
    AccountPart, CallFrame, CallOptions, FrameKind, FrameLog, InstructionStep, Prestate, PrestateOptions,
    StepOptions, StepSink, Trace, TraceLimit, Tracer, TransactionReplay, trace_call,
};
pub use typed::NoRecipient;
