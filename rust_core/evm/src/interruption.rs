//! Reasons to stop an execution from outside.

use std::time::Duration;

use foreseal_scheduler::Stopped;
use foreseal_state::StateError;
use revm::database_interface::DBErrorMarker;

use crate::trace_limit::TraceLimit;

/// Reasons to stop an execution from outside, passed through revm as a database error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Interruption {
    #[error(transparent)]
    Read(#[from] StateError),
    /// The execution exceeded its time limit.
    #[error("execution took longer than {0:?}")]
    TimeLimit(Duration),
    /// The scheduler cancelled the job that executes.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    TraceLimit(#[from] TraceLimit),
}

impl DBErrorMarker for Interruption {}
