#![doc = include_str!("../README.md")]

mod access_list;
mod arithmetic;
mod block;
mod block_error;
mod call;
mod context;
mod costly_instructions;
mod dao_fork;
mod deadline;
mod deadline_check;
mod deposits;
mod difficulty;
mod environment;
mod error;
mod estimate;
mod evm_instance;
mod execution_state;
mod executor;
mod header;
mod interruption;
mod named_precompiles;
mod net_sstore;
pub mod optimism;
mod overrides;
mod precompile_time;
mod precompiles;
mod prepared_transaction;
mod recorded_keccak;
mod rewards;
mod simulate;
mod slot_prediction;
mod system_calls;
mod trace;
mod trace_limit;
mod typed_transaction;

pub use access_list::{AccessListOutcome, create_access_list};
pub use block::{ExecutionOutput, RecoveredBlock, execute_block, execute_recovered};
pub use block_error::BlockError;
pub use call::{CallLimits, CallOutcome, CallRequest, call};
pub use dao_fork::{DAO_ACCOUNTS, DAO_BENEFICIARY};
pub use deadline::Deadline;
pub use difficulty::difficulty_after;
pub use environment::Environment;
pub use error::{ExecutionError, RejectedTransaction};
pub use estimate::{EstimateError, estimate};
pub use executor::{BlockGas, Executor, TransactionLimits};
pub use header::validate_transition;
pub use named_precompiles::named_precompiles;
pub use overrides::{
    AccountOverride, BlockOverrides, OverrideError, ResolvedOverrides, StateOverlay, StateOverrides,
    StorageOverride,
};
pub use precompiles::{MovedPrecompiles, PrecompileRules};
pub use prepared_transaction::PreparedTransaction;
pub use revm::context_interface::result::HaltReason;
pub use simulate::{
    BlockRequest, CallStatus, SimulateBase, SimulateError, SimulateOptions, SimulatedBlock, SimulatedCall,
    SimulatedResult, simulate,
};
pub use system_calls::{BlockBody, EndOfBlock, end_block};
pub use trace::{
    AccountState, CallFrame, CallOptions, FrameKind, FrameLog, Prestate, PrestateOptions, StructLog,
    StructLogOptions, StructLogSink, Trace, Tracer, TransactionReplay, halt_message, trace_call,
};
pub use trace_limit::TraceLimit;
pub use typed_transaction::NoRecipient;
