//! Metrics of a lane.

use std::time::Duration;

use crate::lane::Lane;

/// Upper bounds of the buckets of queue times, in seconds.
pub const BOUNDS: [f64; 10] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Histogram of the times that jobs waited before they ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueTime {
    /// Jobs by the first bound that is not below their time; the last entry has no bound.
    pub counts: [u64; BOUNDS.len() + 1],
    /// Sum over all jobs, in seconds.
    pub sum: f64,
}

impl QueueTime {
    pub(crate) fn add(&mut self, waited: Duration) {
        let seconds = waited.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[bucket] += 1;
        self.sum += seconds;
    }
}

/// Counters of a lane since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobCounters {
    pub queue_time: QueueTime,
    pub cpu_time: Duration,
    pub paused: u64,
    pub cancelled: u64,
    pub late: u64,
    pub over_budget: u64,
    pub overloaded: u64,
}

/// State of a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneStatus {
    pub lane: Lane,
    /// Jobs that wait, paused ones included.
    pub waiting: usize,
    pub running: usize,
    /// Waiting time of the oldest of them.
    pub oldest: Duration,
    pub queue_time: QueueTime,
    /// Processor time that its threads spent in jobs.
    pub cpu_time: Duration,
    /// Number of times that a job was paused for others.
    pub paused: u64,
    /// Jobs that ended because their connection closed.
    pub cancelled: u64,
    /// Jobs that ended because of their time limit.
    pub late: u64,
    /// Jobs that ended because their caller's budget was exhausted.
    pub over_budget: u64,
    /// Jobs rejected because the queue was full, or displaced by another caller.
    pub overloaded: u64,
}
