//! Jobs, submitted, waiting or paused.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::{caller::Caller, stopped::Stopped};

/// The work of a job. It is called exactly once; with the reason if the job does not run.
pub type Work = Box<dyn FnOnce(Result<(), Stopped>) + Send>;

/// Work of one caller.
pub struct Job {
    /// Number by which it can be cancelled.
    pub ticket: u64,
    pub caller: Caller,
    /// Time at which the request arrived.
    pub arrived: Instant,
    /// Maximum time from arrival to completion, waiting included.
    pub limit: Duration,
    pub work: Work,
}

/// A job that waits in a queue.
pub struct WaitingJob {
    pub job: Job,
    pub cancellation: Arc<CancellationToken>,
}

/// Handle on a submitted job.
#[derive(Default)]
pub struct CancellationToken {
    cancelled: AtomicBool,
}

impl CancellationToken {
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Blocks the thread of a paused job until it may continue or must end.
#[derive(Default)]
pub struct Suspension {
    resumption: Mutex<Option<Resumption>>,
    resumed: Condvar,
}

/// Manner in which a paused job continues.
#[derive(Clone, Copy)]
pub enum Resumption {
    /// The job continues; the queue charged `estimate` microseconds for it.
    Run { estimate: i64 },
    /// The job ends: another caller needs its thread.
    Stop,
}

impl Suspension {
    pub fn resume(&self, resumption: Resumption) {
        *self.resumption.lock() = Some(resumption);
        self.resumed.notify_one();
    }

    /// Blocks until [`Self::resume`] is called.
    pub fn wait(&self) -> Resumption {
        let mut resumption = self.resumption.lock();
        loop {
            if let Some(resumption) = *resumption {
                return resumption;
            }
            self.resumed.wait(&mut resumption);
        }
    }
}

/// An entry of a lane's queue.
pub enum Entry {
    Waiting(Box<WaitingJob>),
    Paused { suspension: Arc<Suspension>, paused_at: Instant },
}

impl Entry {
    pub const fn is_paused(&self) -> bool {
        matches!(self, Self::Paused { .. })
    }

    /// Returns `true` for a job that has not begun and whose time limit is exceeded.
    pub fn is_expired(&self, now: Instant) -> bool {
        matches!(self, Self::Waiting(waiting) if now.saturating_duration_since(waiting.job.arrived) >= waiting.job.limit)
    }

    /// Returns the time since which it waits.
    pub fn since(&self) -> Instant {
        match self {
            Self::Waiting(waiting) => waiting.job.arrived,
            Self::Paused { paused_at, .. } => *paused_at,
        }
    }
}
