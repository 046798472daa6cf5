//! The job that the current thread runs.

use std::{
    cell::RefCell,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{Caller, Lane, Stopped, job::CancellationToken, thread::thread_cpu_time};

/// Time between two checks of a job.
const CHECK_INTERVAL: Duration = Duration::from_micros(500);
/// Processor time that a job uses before it is paused for others.
const QUANTUM: Duration = Duration::from_millis(5);
/// Processor time that a job uses before it is paused for fresh callers.
const SHORT_QUANTUM: Duration = Duration::from_millis(1);

thread_local! {
    static RUNNING: RefCell<Option<RunningJob>> = const { RefCell::new(None) };
}

/// Pauses running jobs while others need their threads.
pub trait YieldHook: Send + Sync {
    /// Pauses a job if other jobs of its priority wait in its lane, or with `only_for_new_callers` if fresh callers
    /// do. Returns `true` after a pause.
    ///
    /// # Errors
    ///
    /// Returns [`Stopped::Displaced`] if the job must end for another caller.
    fn yield_to_waiting(
        self: Arc<Self>,
        running: &mut RunningJob,
        only_for_new_callers: bool,
    ) -> Result<bool, Stopped>;
}

/// State of a running job.
pub struct RunningJob {
    pub yield_hook: Arc<dyn YieldHook>,
    pub lane: Lane,
    pub caller: Caller,
    pub cancellation: Arc<CancellationToken>,
    pub arrived: Instant,
    pub limit: Duration,
    /// Cost charged by the queue and not settled yet, in microseconds.
    pub estimate: i64,
    /// Reason for which it must end.
    pub stopped: Option<Stopped>,
    checked: Instant,
    /// Processor time of the thread up to which the budget is charged.
    charged: Duration,
    /// Processor time since the job was started or resumed.
    used: Duration,
}

impl RunningJob {
    pub fn new(
        yield_hook: Arc<dyn YieldHook>,
        lane: Lane,
        (caller, cancellation): (Caller, Arc<CancellationToken>),
        (arrived, limit): (Instant, Duration),
        estimate: i64,
    ) -> Self {
        let (checked, charged) = (Instant::now(), thread_cpu_time());
        Self {
            yield_hook,
            lane,
            caller,
            cancellation,
            arrived,
            limit,
            estimate,
            stopped: None,
            checked,
            charged,
            used: Duration::ZERO,
        }
    }

    /// Runs `work` as this job and returns the job's state afterwards.
    pub fn run(self, work: impl FnOnce()) -> Self {
        RUNNING.set(Some(self));
        work();
        RUNNING.take().expect("it was set above, and nothing else takes it")
    }

    fn check(&mut self) -> Result<(), Stopped> {
        let now = Instant::now();
        if now.duration_since(self.checked) < CHECK_INTERVAL {
            return Ok(());
        }
        self.checked = now;
        let may_continue = self.check_limits_and_yield(now);
        // A late job may go on with other work, and must end once it is displaced.
        self.stopped = match may_continue {
            Err(displaced @ Stopped::Displaced { .. }) => Some(displaced),
            _ => self.stopped.or(may_continue.err()),
        };
        may_continue
    }

    fn check_limits_and_yield(&mut self, now: Instant) -> Result<(), Stopped> {
        self.stop_if_ended(now)?;
        self.charge()?;
        if self.used < SHORT_QUANTUM {
            return Ok(());
        }
        let yield_hook = self.yield_hook.clone();
        let only_for_new_callers = self.used < QUANTUM;
        if yield_hook.yield_to_waiting(self, only_for_new_callers)? {
            // A pause takes wall time but no processor time.
            self.checked = Instant::now();
            self.stop_if_ended(self.checked)?;
        }
        Ok(())
    }

    fn stop_if_ended(&self, now: Instant) -> Result<(), Stopped> {
        if let Some(displaced @ Stopped::Displaced { .. }) = self.stopped {
            return Err(displaced);
        }
        if self.cancellation.is_cancelled() {
            return Err(Stopped::Cancelled);
        }
        if now.duration_since(self.arrived) >= self.limit {
            return Err(Stopped::TimeLimit(self.limit));
        }
        Ok(())
    }

    /// Charges the processor time since the last charge to the caller's budget.
    pub fn charge(&mut self) -> Result<(), Stopped> {
        let cpu = thread_cpu_time();
        let used = cpu.saturating_sub(self.charged);
        self.charged = cpu;
        self.used += used;
        let charged = self.caller.budget.as_ref().map_or(Ok(()), |budget| budget.charge(used));
        charged.map_err(|exhausted| Stopped::Budget { retry_after: exhausted.retry_after })
    }

    /// Returns the processor time since the job was started or resumed, and resets it.
    pub fn drain_used(&mut self) -> Duration {
        std::mem::take(&mut self.used)
    }
}

/// Ends or pauses the job of the current thread if that is due. Work that may take long should call it often.
/// Does nothing on a thread that runs no job.
///
/// # Errors
///
/// Returns the reason for which the job must end.
pub fn checkpoint() -> Result<(), Stopped> {
    RUNNING.with_borrow_mut(|running| running.as_mut().map_or(Ok(()), RunningJob::check))
}

/// Counts the job of the current thread as late: it ends at a time limit of its own, which is at most that of the
/// job. Does nothing on a thread that runs no job.
pub fn record_late(limit: Duration) {
    RUNNING.with_borrow_mut(|running| {
        if let Some(running) = running {
            running.stopped = running.stopped.or(Some(Stopped::TimeLimit(limit)));
        }
    });
}

/// Returns the arrival time of the current thread's job, or the current time if it runs none.
pub fn arrival() -> Instant {
    RUNNING
        .with_borrow(|running| running.as_ref().map(|running| running.arrived))
        .unwrap_or_else(Instant::now)
}
