//! The revm context of an execution.

use revm::{
    Context,
    context::{BlockEnv, CfgEnv, Journal, TxEnv},
    context_interface::result::EVMError,
    handler::EthFrame,
    interpreter::interpreter::EthInterpreter,
};

use crate::{deadline_check::DeadlineCheck, execution_state::ExecutionState, interruption::Interruption};

/// A frame of a call or a creation.
pub(crate) type Frame = EthFrame<EthInterpreter>;

/// Error of an execution.
pub(crate) type EvmError = EVMError<Interruption>;

/// Context that instructions and inspectors access.
pub(crate) type EvmContext<'a> =
    Context<BlockEnv, TxEnv, CfgEnv, ExecutionState<'a>, Journal<ExecutionState<'a>>, DeadlineCheck>;
