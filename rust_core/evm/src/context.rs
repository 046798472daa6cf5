//! The revm context of an execution.

use revm::{
    Context,
    context::{BlockEnv, CfgEnv, Journal, TxEnv},
};

use crate::{deadline_check::DeadlineCheck, execution_state::ExecutionState};

/// Context that instructions and inspectors access.
pub(crate) type EvmContext<'a> =
    Context<BlockEnv, TxEnv, CfgEnv, ExecutionState<'a>, Journal<ExecutionState<'a>>, DeadlineCheck>;
