//! Lanes: kinds of work with threads of their own.

/// Kind of work. No lane waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Submissions of transactions.
    Submission,
    /// Reads that take well under a millisecond.
    Read,
    /// Calls, traces, simulations, wide log searches.
    Heavy,
    /// Calls that wait for another process.
    Remote,
    /// Slow checks of submissions that passed the others: blob proofs, signatures of authorizations.
    Verification,
}

impl Lane {
    pub const ALL: [Self; 5] = [Self::Submission, Self::Read, Self::Heavy, Self::Remote, Self::Verification];

    /// Returns the name used in metrics and thread names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submission => "submission",
            Self::Read => "read",
            Self::Heavy => "heavy",
            Self::Remote => "remote",
            Self::Verification => "verification",
        }
    }

    /// Returns `true` if its jobs end when their caller has gone. A submission does not.
    pub(crate) const fn is_cancellable(self) -> bool {
        !matches!(self, Self::Submission | Self::Verification)
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Configuration of a lane: its threads and its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneConfig {
    /// Maximum number of jobs of each priority that run at once.
    pub running: usize,
    /// Maximum number of threads of each priority, those of paused jobs included.
    pub threads: usize,
    /// Maximum number of waiting jobs, of all callers together.
    pub capacity: usize,
    /// Nice value of the threads.
    pub nice: i32,
    /// `true` if a job that has used its quantum is paused while others wait.
    pub is_preemptive: bool,
}

impl LaneConfig {
    /// Returns a lane of `threads` threads at normal priority, each of which runs a job to its end.
    pub const fn simple(threads: usize, capacity: usize) -> Self {
        Self { running: threads, threads, capacity, nice: 0, is_preemptive: false }
    }
}
