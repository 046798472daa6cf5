//! The lanes of a node's scheduler, and their metrics as JSON.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use foreseal_rpc::{Lanes, Method, PendingBody, RpcError, Submissions};
use foreseal_scheduler::{BOUNDS, LaneConfig, LaneStatus, Scheduler};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Threads for reads of one priority, paused ones included; few reads run long enough to be paused.
const MAX_READ_THREADS: usize = 16;
/// Threads for heavy jobs of one priority, paused ones included.
const MAX_HEAVY_THREADS: usize = 48;
/// Nice value of threads for heavy work: other threads run first, and these get at least a tenth of the
/// processor.
const HEAVY_NICE: i32 = 10;
/// Nice value of threads for slow checks of submissions: other submissions run first.
const VERIFICATION_NICE: i32 = 5;
/// Maximum number of submissions that wait for slow checks, each of at most 1 MiB: a few seconds of work.
const MAX_VERIFICATIONS: usize = 32;
/// Threads for calls that wait for the sequencer, for each priority.
const REMOTE_THREADS: usize = 2;
/// Longest time that a submission may wait for a thread while the node is healthy.
pub const MAX_SUBMISSION_WAIT: Duration = Duration::from_secs(1);

/// Starts the lanes. `threads` jobs of each kind run at once, and `capacity` more may be queued. Of slow checks of
/// submissions, one of each priority runs.
pub fn start(threads: usize, capacity: usize) -> io::Result<Scheduler> {
    let simple = LaneConfig::simple(threads, capacity);
    let heavy = LaneConfig {
        threads: MAX_HEAVY_THREADS.max(threads),
        nice: HEAVY_NICE,
        is_preemptive: true,
        ..simple
    };
    let read = LaneConfig { threads: MAX_READ_THREADS.max(threads), is_preemptive: true, ..simple };
    let verification =
        LaneConfig { nice: VERIFICATION_NICE, ..LaneConfig::simple(1, capacity.min(MAX_VERIFICATIONS)) };
    let remote = LaneConfig::simple(REMOTE_THREADS, capacity);
    // In the order of `Lane::ALL`.
    Scheduler::start([simple, read, heavy, remote, verification])
}

/// Above the limit for all callers, a caller with fewer running calls than the first number is admitted up to this
/// multiple of the limit. Other callers cannot use up its share, even in large numbers.
const RESERVED_SHARES: [(usize, usize); 2] = [(4, 8), (8, 4)];

/// Returns the number of calls that a caller may start on worker threads.
///
/// `running` of at most `limit` calls are in progress, `own` of at most `own_limit` of them the caller's; None for a
/// caller without a count, or without a limit of its own.
#[pyfunction]
#[pyo3(signature = (running, limit, own=None, own_limit=None))]
pub fn lane_room(running: usize, limit: usize, own: Option<usize>, own_limit: Option<usize>) -> usize {
    let has_share = |own: usize| {
        RESERVED_SHARES.iter().any(|(few, times)| own < *few && running < times.saturating_mul(limit))
    };
    let room = match limit.saturating_sub(running) {
        0 => usize::from(own.is_some_and(has_share)),
        room => room,
    };
    own_limit.map_or(room, |limit| room.min(limit.saturating_sub(own.unwrap_or(0))))
}

/// Lanes of an entrance whose methods are all Python's.
pub struct NoLanes;

impl Lanes for NoLanes {
    fn room(&self) -> usize {
        0
    }

    fn start(&self, _: &Arc<PendingBody>, _: usize, _: &'static Method, _: &str) -> Result<(), RpcError> {
        Err(RpcError::stopping())
    }

    fn submit(&self, _: &Arc<PendingBody>, _: Submissions) -> bool {
        false
    }
}

/// Returns a lane's metrics: `waiting`, `running`, `oldest` and `cpu` in seconds, `queue` as a histogram, and
/// counters.
pub fn lane_json(status: &LaneStatus) -> Value {
    let mut total = 0;
    let cumulative = status.queue_time.counts.map(|count| {
        total += count;
        total
    });
    json!({
        "waiting": status.waiting,
        "running": status.running,
        "oldest": status.oldest.as_secs_f64(),
        "bounds": BOUNDS,
        "queue": { "counts": cumulative, "seconds": status.queue_time.sum },
        "cpu": status.cpu_time.as_secs_f64(),
        "paused": status.paused,
        "ended": {
            "cancelled": status.cancelled,
            "late": status.late,
            "over_budget": status.over_budget,
            "overloaded": status.overloaded,
        },
    })
}
