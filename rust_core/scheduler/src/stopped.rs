//! Reasons for which a job does not run to its end.

use std::time::Duration;

/// Reason for which a job did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    #[error("the call was cancelled: its connection is closed")]
    Cancelled,
    /// The time limit counts from arrival, waiting included.
    #[error("the call exceeds {0:?}, including the time in the queue")]
    TimeLimit(Duration),
    #[error("the caller has used up its processor time: retry in {retry_after:?}")]
    Budget { retry_after: Duration },
    #[error("too many calls are waiting: at most {capacity}")]
    Overloaded { capacity: usize },
    /// All threads of its lane were in use, and another caller had none.
    #[error("more than {threads} long calls are running: this one was preempted for another caller")]
    Displaced { threads: usize },
    /// Nothing interrupts an operation, so a public caller may only begin those that are not too long.
    #[error("one precompiled contract would run more than {max:?}, the maximum of a public call")]
    LongOperation { max: Duration },
    #[error("the node is stopping")]
    Stopping,
}
