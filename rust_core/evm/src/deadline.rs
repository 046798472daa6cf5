//! Time limit of an execution.

use std::time::{Duration, Instant};

use foreseal_scheduler::{arrival, checkpoint, record_late};

use crate::{error::ExecutionError, interruption::Interruption};

/// Maximum memory in bytes of an execution under a strict deadline, all frames together.
pub(crate) const STRICT_MEMORY: u64 = 256 * 1024;
/// Maximum input in bytes of a precompiled contract under a strict deadline.
pub(crate) const STRICT_INPUT: usize = 4096;

/// Time by which an execution must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    end: Instant,
    limit: Duration,
    strictness: Strictness,
}

/// Operations that a deadline ends before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strictness {
    /// None.
    Lenient,
    /// Calls of precompiled contracts that are estimated to end after the deadline.
    Estimated,
    /// All that may take more than some microseconds.
    Strict,
}

impl Deadline {
    /// Returns a deadline `limit` after the arrival of the job that the thread runs, or from now if it runs
    /// none.
    pub fn after(limit: Duration) -> Self {
        let arrived = arrival();
        Self { end: arrived.checked_add(limit).unwrap_or(arrived), limit, strictness: Strictness::Lenient }
    }

    /// Returns a strict deadline `limit` after the arrival of the job that the thread runs, or from now. Use
    /// it on a thread that others wait for.
    ///
    /// The clock is read before every operation that may take some time: reads of the state, hashes, copies.
    /// A single long operation ends the execution as if the time limit were exceeded: memory beyond 256 KiB,
    /// precompiled contracts other than the oldest four, or precompile inputs of more than 4 KiB.
    pub fn strict(limit: Duration) -> Self {
        Self { strictness: Strictness::Strict, ..Self::after(limit) }
    }

    /// Returns a deadline `limit` from now for a transaction of a block. A call of a precompiled contract that is
    /// estimated to end later ends the execution before it runs.
    pub(crate) fn for_transaction(limit: Duration) -> Self {
        let now = Instant::now();
        Self { end: now.checked_add(limit).unwrap_or(now), limit, strictness: Strictness::Estimated }
    }

    /// Returns `true` if the deadline is strict: no operation may run much beyond it.
    pub fn is_strict(self) -> bool {
        self.strictness == Strictness::Strict
    }

    /// Returns `true` if the times of precompiled contracts are estimated before they run.
    pub(crate) fn is_estimated(self) -> bool {
        self.strictness == Strictness::Estimated
    }

    /// Returns the time until the deadline.
    pub(crate) fn remaining(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Fails if the deadline has passed or the scheduler has cancelled the job. May pause the thread to let
    /// other jobs run.
    pub(crate) fn interrupted(self) -> Result<(), Interruption> {
        if self.has_passed() {
            record_late(self.limit);
            return Err(self.over());
        }
        if self.is_strict() { Ok(()) } else { checkpoint().map_err(Interruption::from) }
    }

    /// Fails if the deadline has passed or the scheduler has cancelled the job.
    pub fn check(self) -> Result<(), ExecutionError> {
        self.interrupted().map_err(ExecutionError::from)
    }

    /// Returns the error of an execution that exceeds the deadline.
    pub(crate) fn over(self) -> Interruption {
        Interruption::TimeLimit(self.limit)
    }

    /// Returns the total time limit of the execution.
    pub fn limit(self) -> Duration {
        self.limit
    }

    /// Returns `true` if the deadline has passed.
    pub fn has_passed(self) -> bool {
        Instant::now() >= self.end
    }
}
