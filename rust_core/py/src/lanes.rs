//! The lanes of a node's scheduler, and their metrics as JSON.

use std::io;
use std::time::Duration;

use foreseal_scheduler::{BOUNDS, LaneConfig, LaneStatus, Scheduler};
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
