//! The revm context of an execution.

use revm::{
    Context,
    context::{BlockEnv, CfgEnv, Journal, TxEnv},
};

use crate::{cache::Cache, watch::DeadlineCheck};

/// Context that instructions and inspectors access.
pub(crate) type MachineContext<'a> =
    Context<BlockEnv, TxEnv, CfgEnv, Cache<'a>, Journal<Cache<'a>>, DeadlineCheck>;
