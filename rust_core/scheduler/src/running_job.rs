//! The job that the current thread runs.

use std::{
    cell::RefCell,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    caller::{Caller, Priority},
    job::CancellationToken,
    lane::Lane,
    stopped::Stopped,
    thread::thread_cpu_time,
};

/// Time between two checks of a job.
const CHECK_INTERVAL: Duration = Duration::from_micros(500);
/// Processor time that a job uses before it is paused for others.
const QUANTUM: Duration = Duration::from_millis(5);
/// Processor time that a job uses before it is paused for fresh callers.
const SHORT_QUANTUM: Duration = Duration::from_millis(1);
/// Estimated time from which an operation without checkpoints is long.
const LONG_OPERATION: Duration = Duration::from_millis(10);
/// Maximum estimated time of one long operation of a public caller: more than the gas of a transaction (2^24) buys.
const MAX_PUBLIC_OPERATION: Duration = Duration::from_millis(700);

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

    /// Waits until a job may begin a long operation, and lets other jobs of its lane run meanwhile and until
    /// [`Self::end_operation`].
    ///
    /// # Errors
    ///
    /// Returns [`Stopped::Overloaded`] if too many wait; the operation does not begin.
    fn begin_operation(self: Arc<Self>, lane: Lane, priority: Priority) -> Result<(), Stopped>;

    /// Ends a long operation.
    fn end_operation(&self, lane: Lane, priority: Priority);
}

/// A long operation of the current thread's job. It ends when this is dropped.
#[must_use = "the operation ends when this is dropped"]
#[derive(Default)]
pub struct LongOperation {
    job: Option<(Arc<dyn YieldHook>, Lane, Priority)>,
}

impl Drop for LongOperation {
    fn drop(&mut self) {
        if let Some((hook, lane, priority)) = self.job.take() {
            hook.end_operation(lane, priority);
        }
    }
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
    /// Processor time that was charged before its use.
    prepaid: Duration,
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
            prepaid: Duration::ZERO,
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
        let due = used.saturating_sub(self.prepaid);
        self.prepaid = self.prepaid.saturating_sub(used);
        self.charge_budget(due)
    }

    fn charge_budget(&self, time: Duration) -> Result<(), Stopped> {
        let charged = self.caller.budget.as_ref().map_or(Ok(()), |budget| budget.charge(time));
        charged.map_err(|exhausted| Stopped::Budget { retry_after: exhausted.retry_after })
    }

    fn begin_operation(&mut self, estimate: Duration) -> Result<LongOperation, Stopped> {
        let begun = self.admit_operation(estimate);
        self.stopped = self.stopped.or(begun.as_ref().err().copied());
        begun
    }

    fn admit_operation(&mut self, estimate: Duration) -> Result<LongOperation, Stopped> {
        let priority = self.caller.priority;
        if priority == Priority::Public && estimate > MAX_PUBLIC_OPERATION {
            return Err(Stopped::LongOperation { max: MAX_PUBLIC_OPERATION });
        }
        self.charge_ahead(estimate)?;
        self.yield_hook.clone().begin_operation(self.lane, priority)?;
        let operation = LongOperation { job: Some((self.yield_hook.clone(), self.lane, priority)) };
        // It may have waited.
        self.checked = Instant::now();
        self.stop_if_ended(self.checked)?;
        Ok(operation)
    }

    /// Charges an estimate before the time is used. What it exceeds the use is not returned.
    fn charge_ahead(&mut self, estimate: Duration) -> Result<(), Stopped> {
        self.stop_if_ended(Instant::now())?;
        self.charge()?;
        self.charge_budget(estimate)?;
        self.prepaid += estimate;
        Ok(())
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

/// Prepares the job of the current thread for an operation that has no checkpoints and may take `estimate`.
///
/// The estimate of a long operation is charged before it begins. One of them runs at a time in each lane and priority,
/// and other jobs of the lane continue meanwhile. Does nothing for a short operation, or on a thread that runs no job.
///
/// # Errors
///
/// Returns the reason for which the job must end, [`Stopped::LongOperation`] among them.
pub fn begin_operation(estimate: Duration) -> Result<LongOperation, Stopped> {
    if estimate < LONG_OPERATION {
        return Ok(LongOperation::default());
    }
    RUNNING.with_borrow_mut(|running| match running {
        Some(running) => running.begin_operation(estimate),
        None => Ok(LongOperation::default()),
    })
}

/// Charges the caller of the current thread's job for work that follows and may take `estimate`. Does nothing on a
/// thread that runs no job.
///
/// # Errors
///
/// Returns the reason for which the job must end: the budget is exhausted, or its time is over.
pub fn charge_ahead(estimate: Duration) -> Result<(), Stopped> {
    RUNNING.with_borrow_mut(|running| {
        let Some(running) = running else { return Ok(()) };
        let charged = running.charge_ahead(estimate);
        running.stopped = running.stopped.or(charged.err());
        charged
    })
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

/// Returns the id of the public caller of the current thread's job; `None` if it runs none, or one of another caller.
pub fn running_public_caller() -> Option<u64> {
    RUNNING.with_borrow(|running| {
        let caller = running.as_ref().map(|running| &running.caller);
        caller.filter(|caller| caller.priority == Priority::Public).map(|caller| caller.id)
    })
}

/// Returns the arrival time of the current thread's job, or the current time if it runs none.
pub fn arrival() -> Instant {
    RUNNING
        .with_borrow(|running| running.as_ref().map(|running| running.arrived))
        .unwrap_or_else(Instant::now)
}
