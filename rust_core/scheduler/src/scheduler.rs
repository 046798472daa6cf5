//! Worker threads that run jobs, lane by lane.

use std::{
    collections::{HashMap, VecDeque},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::{
    caller::Priority,
    fair_queue::FairQueue,
    job::{CancellationToken, Entry, Job, Resumption, Suspension, WaitingJob},
    lane::{Lane, LaneConfig},
    metrics::{JobCounters, LaneStatus},
    running_job::{RunningJob, YieldHook},
    stopped::Stopped,
    thread::lower_priority,
};

/// Interval between two searches for waiting jobs whose time limit is exceeded.
const EXPIRY_INTERVAL: Duration = Duration::from_millis(50);

/// Time that a caller waits for a thread before a paused job of another caller is ended for it.
const THREAD_WAIT: Duration = Duration::from_millis(100);

/// Maximum number of jobs that wait for a long operation, in each lane and priority.
const MAX_WAITING_OPERATIONS: usize = 8;

/// Error of [`Scheduler::submit`]: the job is not queued, and its work is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    #[error("too many calls are waiting: at most {capacity}")]
    Full { capacity: usize },
    #[error("the node is stopping")]
    Stopping,
}

/// Lanes, their threads and their jobs.
pub struct Scheduler {
    shared: Arc<SchedulerState>,
}

/// Handle on a scheduler that does not extend its life.
#[derive(Clone)]
pub struct SchedulerHandle(Weak<SchedulerState>);

impl SchedulerHandle {
    /// Queues a job like [`Scheduler::submit`].
    ///
    /// # Errors
    ///
    /// Returns the same errors. The work is then not called.
    pub fn submit(&self, lane: Lane, job: Job) -> Result<(), SubmitError> {
        let state = self.0.upgrade().ok_or(SubmitError::Stopping)?;
        state.submit_all(lane, std::iter::once(job))
    }
}

struct SchedulerState {
    lanes: [LaneQueue; Lane::ALL.len()],
    /// Jobs that can be cancelled, by ticket.
    jobs: Mutex<HashMap<u64, Arc<CancellationToken>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct LaneQueue {
    config: LaneConfig,
    state: Mutex<LaneState>,
    /// Signals that a job is assigned or the lane stops.
    assigned: Condvar,
    /// Signals that a long operation has ended.
    operation_ended: Condvar,
}

/// Long operations of one lane and priority.
#[derive(Clone, Copy, Default)]
struct LongOperations {
    is_running: bool,
    waiting: usize,
}

#[derive(Default)]
struct LaneState {
    /// Queues by priority.
    queues: [FairQueue<Entry>; 2],
    running: [usize; 2],
    /// Threads of the lane, and the number of those without a job.
    threads: usize,
    idle: usize,
    /// Jobs for threads that are idle or starting.
    ready: VecDeque<AssignedJob>,
    /// Number of jobs that wait and have not begun.
    waiting: usize,
    /// Threads that hold a job, by priority, paused jobs included.
    held: [usize; 2],
    operations: [LongOperations; 2],
    counters: JobCounters,
    stopped: bool,
    /// Time of the last search for jobs whose time limit is exceeded.
    expired: Option<Instant>,
}

struct AssignedJob {
    waiting: Box<WaitingJob>,
    estimate: i64,
}

impl Scheduler {
    /// Starts one thread per lane; more threads start on demand. `configs` has one entry for each of
    /// [`Lane::ALL`].
    ///
    /// # Errors
    ///
    /// Returns the system's error if a thread cannot be started.
    pub fn start(configs: [LaneConfig; Lane::ALL.len()]) -> io::Result<Self> {
        let lanes = configs.map(|config| LaneQueue {
            config,
            state: Mutex::default(),
            assigned: Condvar::new(),
            operation_ended: Condvar::new(),
        });
        let shared = Arc::new(SchedulerState { lanes, jobs: Mutex::default(), threads: Mutex::default() });
        for lane in Lane::ALL {
            let mut state = shared.lane(lane).state.lock();
            shared.spawn(lane, &mut state)?;
            state.idle += 1;
        }
        Ok(Self { shared })
    }

    /// Queues a job. A full queue evicts the newest job of the caller that has the most jobs in it.
    ///
    /// # Errors
    ///
    /// Returns [`SubmitError::Full`] if that is this caller, and [`SubmitError::Stopping`] if the scheduler
    /// stops.
    pub fn submit(&self, lane: Lane, job: Job) -> Result<(), SubmitError> {
        self.submit_all(lane, std::iter::once(job))
    }

    /// Queues several jobs of one caller, all or none.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::submit`].
    pub fn submit_all(
        &self,
        lane: Lane,
        jobs: impl ExactSizeIterator<Item = Job>,
    ) -> Result<(), SubmitError> {
        self.shared.submit_all(lane, jobs)
    }

    /// Returns a handle with which a job submits further jobs.
    pub fn handle(&self) -> SchedulerHandle {
        SchedulerHandle(Arc::downgrade(&self.shared))
    }

    /// Ends the job with this ticket at its next checkpoint, or before it begins. Submissions are never
    /// cancelled.
    pub fn cancel(&self, ticket: u64) {
        if let Some(cancellation) = self.shared.jobs.lock().get(&ticket) {
            cancellation.cancel();
        }
    }

    /// Returns the state of each lane.
    pub fn status(&self) -> [LaneStatus; Lane::ALL.len()] {
        Lane::ALL.map(|lane| self.shared.lane(lane).state.lock().status(lane))
    }

    /// Returns the waiting time of the oldest job of a lane.
    pub fn oldest(&self, lane: Lane) -> Duration {
        self.shared.lane(lane).state.lock().oldest(Instant::now())
    }

    /// Rejects waiting jobs, lets running and paused jobs end, and ends the threads. Blocks until that is
    /// done.
    pub fn stop(&self) {
        for queue in &self.shared.lanes {
            let entries = queue.state.lock().stop();
            queue.assigned.notify_all();
            for entry in entries {
                match entry {
                    Entry::Waiting(waiting) => (waiting.job.work)(Err(Stopped::Stopping)),
                    Entry::Paused { suspension, .. } => {
                        suspension.resume(Resumption::Run { estimate: 0 });
                    }
                }
            }
        }
        let threads = std::mem::take(&mut *self.shared.threads.lock());
        for thread in threads {
            // A panic in a job is caught on the thread that runs it.
            let _ = thread.join();
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn reject_all(jobs: Vec<WaitingJob>, capacity: usize) {
    for waiting in jobs {
        (waiting.job.work)(Err(Stopped::Overloaded { capacity }));
    }
}

impl LaneState {
    /// Drains the queues. Paused jobs count as running from now on: they all end concurrently.
    fn stop(&mut self) -> Vec<Entry> {
        self.stopped = true;
        self.waiting = 0;
        let mut entries = Vec::new();
        for (queue, running) in self.queues.iter_mut().zip(&mut self.running) {
            let drained = queue.drain();
            *running += drained.iter().filter(|entry| entry.is_paused()).count();
            entries.extend(drained);
        }
        entries
    }

    /// Removes the jobs whose time limit was exceeded before they began, at most once per
    /// [`EXPIRY_INTERVAL`]. Otherwise their callers would get the error only when the jobs are dispatched.
    fn remove_expired(&mut self, now: Instant) -> Vec<WaitingJob> {
        if self.waiting == 0
            || self.expired.is_some_and(|last| now.saturating_duration_since(last) < EXPIRY_INTERVAL)
        {
            return Vec::new();
        }
        self.expired = Some(now);
        let entries = self.queues.iter_mut().flat_map(|queue| queue.pop_heads(|entry| entry.is_expired(now)));
        let expired: Vec<WaitingJob> = entries
            .filter_map(|entry| match entry {
                Entry::Waiting(waiting) => Some(*waiting),
                Entry::Paused { .. } => None,
            })
            .collect();
        self.waiting -= expired.len();
        self.counters.late += expired.len() as u64;
        expired
    }

    /// Evicts the newest job of the caller with the most jobs, if it has more than `own`. A public caller
    /// displaces only public callers; a dedicated caller displaces public callers first, then dedicated ones.
    fn evict_waiting(&mut self, submitter: Priority, own: usize) -> Option<WaitingJob> {
        let candidates: &[Priority] = match submitter {
            Priority::Public => &[Priority::Public],
            Priority::Dedicated => &[Priority::Public, Priority::Dedicated],
        };
        for &priority in candidates {
            let queue = &mut self.queues[priority.index()];
            let Some((caller, length)) = queue.longest() else { continue };
            if length > own
                && let Some(Entry::Waiting(waiting)) = queue.pop_newest(caller, |entry| !entry.is_paused())
            {
                self.waiting -= 1;
                self.counters.overloaded += 1;
                return Some(*waiting);
            }
        }
        None
    }

    /// Ends the paused job of the caller with the largest debt if a fresh caller has waited for a thread for
    /// [`THREAD_WAIT`].
    fn make_room(&mut self, at: usize) -> bool {
        let waits = |entry: &Entry| !entry.is_paused() && entry.since().elapsed() >= THREAD_WAIT;
        if !self.queues[at].first_new_caller().is_some_and(waits) {
            return false;
        }
        let Some(Entry::Paused { suspension, .. }) = self.queues[at].pop_highest_usage(Entry::is_paused)
        else {
            return false;
        };
        suspension.resume(Resumption::Stop);
        self.held[at] -= 1;
        self.running[at] += 1;
        true
    }

    fn oldest(&self, now: Instant) -> Duration {
        let heads = self.queues.iter().flat_map(FairQueue::heads);
        heads.map(|entry| now.saturating_duration_since(entry.since())).max().unwrap_or_default()
    }

    fn status(&self, lane: Lane) -> LaneStatus {
        let JobCounters { queue_time, cpu_time, paused, cancelled, late, over_budget, overloaded } =
            self.counters.clone();
        LaneStatus {
            lane,
            waiting: self.queues.iter().map(FairQueue::len).sum(),
            running: self.running.iter().sum(),
            oldest: self.oldest(Instant::now()),
            queue_time,
            cpu_time,
            paused,
            cancelled,
            late,
            over_budget,
            overloaded,
        }
    }

    fn count_stopped(&mut self, stopped: Stopped) {
        match stopped {
            Stopped::Cancelled => self.counters.cancelled += 1,
            Stopped::TimeLimit(_) => self.counters.late += 1,
            Stopped::Budget { .. } => self.counters.over_budget += 1,
            Stopped::Displaced { .. } => self.counters.overloaded += 1,
            Stopped::Overloaded { .. } | Stopped::LongOperation { .. } | Stopped::Stopping => {}
        }
    }
}

impl SchedulerState {
    const fn lane(&self, lane: Lane) -> &LaneQueue {
        &self.lanes[lane.index()]
    }

    /// Queues several jobs of one caller: see [`Scheduler::submit_all`].
    pub fn submit_all(
        self: &Arc<Self>,
        lane: Lane,
        jobs: impl ExactSizeIterator<Item = Job>,
    ) -> Result<(), SubmitError> {
        let queue = self.lane(lane);
        let mut jobs = jobs.peekable();
        let Some(caller) = jobs.peek().map(|job| job.caller.clone()) else { return Ok(()) };
        let count = jobs.len();
        let mut turned_away = Vec::new();
        let mut state = queue.state.lock();
        if state.stopped {
            return Err(SubmitError::Stopping);
        }
        let expired = state.remove_expired(Instant::now());
        let capacity = queue.config.capacity;
        while state.waiting + count > capacity {
            let own = state.queues[caller.priority.index()].caller_len(caller.id) + count;
            let Some(other) = state.evict_waiting(caller.priority, own) else {
                state.counters.overloaded += 1;
                drop(state);
                self.end_expired(expired);
                reject_all(turned_away, capacity);
                return Err(SubmitError::Full { capacity });
            };
            turned_away.push(other);
        }
        for job in jobs {
            let cancellation = Arc::new(CancellationToken::default());
            if lane.is_cancellable() {
                self.jobs.lock().insert(job.ticket, cancellation.clone());
            }
            state.waiting += 1;
            let entry = Entry::Waiting(Box::new(WaitingJob { job, cancellation }));
            state.queues[caller.priority.index()].push(caller.id, entry);
        }
        self.dispatch(lane, &mut state);
        drop(state);
        self.end_expired(expired);
        for waiting in &turned_away {
            self.jobs.lock().remove(&waiting.job.ticket);
        }
        reject_all(turned_away, capacity);
        Ok(())
    }

    /// Rejects jobs whose time limit was exceeded before they began.
    fn end_expired(&self, expired: Vec<WaitingJob>) {
        for WaitingJob { job, .. } in expired {
            self.jobs.lock().remove(&job.ticket);
            (job.work)(Err(Stopped::TimeLimit(job.limit)));
        }
    }

    /// Assigns the next jobs to threads.
    fn dispatch(self: &Arc<Self>, lane: Lane, state: &mut LaneState) {
        let config = self.lane(lane).config;
        for priority in Priority::ALL {
            let at = priority.index();
            while state.running[at] < config.running {
                let has_thread = state.held[at] < config.threads;
                if !has_thread && state.make_room(at) {
                    continue;
                }
                let Some(taken) = state.queues[at].pop_if(|entry| entry.is_paused() || has_thread) else {
                    break;
                };
                match taken.item {
                    Entry::Paused { suspension, .. } => {
                        suspension.resume(Resumption::Run { estimate: taken.estimate });
                    }
                    Entry::Waiting(waiting) => {
                        if state.idle == 0 && self.spawn(lane, state).is_ok() {
                            state.idle += 1;
                        }
                        if state.idle == 0 {
                            state.queues[at].push_front(taken.caller, Entry::Waiting(waiting));
                            break;
                        }
                        state.idle -= 1;
                        state.held[at] += 1;
                        state.waiting -= 1;
                        state.ready.push_back(AssignedJob { waiting, estimate: taken.estimate });
                        self.lane(lane).assigned.notify_one();
                    }
                }
                state.running[at] += 1;
            }
        }
    }

    fn spawn(self: &Arc<Self>, lane: Lane, state: &mut LaneState) -> io::Result<()> {
        let shared = self.clone();
        let name = format!("foreseal-{}-{}", lane.name(), state.threads);
        let thread = thread::Builder::new().name(name).spawn(move || shared.work(lane))?;
        state.threads += 1;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Runs jobs of a lane until it stops.
    fn work(self: &Arc<Self>, lane: Lane) {
        let queue = self.lane(lane);
        if queue.config.nice > 0 {
            lower_priority(queue.config.nice);
        }
        let mut state = queue.state.lock();
        loop {
            let Some(AssignedJob { waiting, estimate }) = state.ready.pop_front() else {
                if state.stopped {
                    return;
                }
                queue.assigned.wait(&mut state);
                continue;
            };
            state.counters.queue_time.add(waiting.job.arrived.elapsed());
            drop(state);
            let ended = self.run(lane, *waiting, estimate);
            state = queue.state.lock();
            let at = ended.priority.index();
            state.running[at] -= 1;
            state.held[at] -= usize::from(ended.holds_thread);
            state.idle += 1;
            state.counters.cpu_time += ended.used;
            if let Some(stopped) = ended.stopped {
                state.count_stopped(stopped);
            }
            state.queues[at].settle(ended.caller, ended.estimate, microseconds(ended.used));
            if !state.stopped {
                self.dispatch(lane, &mut state);
            }
        }
    }

    fn run(self: &Arc<Self>, lane: Lane, waiting: WaitingJob, estimate: i64) -> FinishedJob {
        let WaitingJob { job: Job { ticket, caller, arrived, limit, work }, cancellation } = waiting;
        let (priority, id) = (caller.priority, caller.id);
        let stopped = if cancellation.is_cancelled() {
            Some(Stopped::Cancelled)
        } else if arrived.elapsed() >= limit {
            Some(Stopped::TimeLimit(limit))
        } else {
            None
        };
        let running = RunningJob::new(self.clone(), lane, (caller, cancellation), (arrived, limit), estimate);
        let mut running = running.run(|| {
            let outcome = stopped.map_or(Ok(()), Err);
            if catch_unwind(AssertUnwindSafe(|| work(outcome))).is_err() {
                tracing::error!(lane = lane.name(), "job panicked");
            }
        });
        self.jobs.lock().remove(&ticket);
        let holds_thread = !matches!(running.stopped, Some(Stopped::Displaced { .. }));
        let stopped = stopped.or(running.stopped).or(running.charge().err());
        FinishedJob {
            priority,
            caller: id,
            estimate: running.estimate,
            used: running.drain_used(),
            holds_thread,
            stopped,
        }
    }
}

impl YieldHook for SchedulerState {
    fn yield_to_waiting(
        self: Arc<Self>,
        running: &mut RunningJob,
        only_for_new_callers: bool,
    ) -> Result<bool, Stopped> {
        let queue = self.lane(running.lane);
        let (at, caller) = (running.caller.priority.index(), running.caller.id);
        let mut state = queue.state.lock();
        if only_for_new_callers && state.queues[at].first_new_caller().is_none() {
            return Ok(false);
        }
        let used = running.drain_used();
        state.counters.cpu_time += used;
        state.queues[at].settle(caller, running.estimate, microseconds(used));
        running.estimate = 0;
        if !queue.config.is_preemptive || state.stopped || state.queues[at].is_empty() {
            return Ok(false);
        }
        let parker = Arc::new(Suspension::default());
        let entry = Entry::Paused { suspension: parker.clone(), paused_at: Instant::now() };
        state.queues[at].push_front(caller, entry);
        state.running[at] -= 1;
        state.counters.paused += 1;
        self.dispatch(running.lane, &mut state);
        drop(state);
        match parker.wait() {
            Resumption::Run { estimate } => {
                running.estimate = estimate;
                Ok(true)
            }
            Resumption::Stop => Err(Stopped::Displaced { threads: queue.config.threads }),
        }
    }

    fn begin_operation(self: Arc<Self>, lane: Lane, priority: Priority) -> Result<(), Stopped> {
        let queue = self.lane(lane);
        let at = priority.index();
        let mut state = queue.state.lock();
        if state.operations[at].waiting >= MAX_WAITING_OPERATIONS {
            return Err(Stopped::Overloaded { capacity: MAX_WAITING_OPERATIONS });
        }
        // Its thread is not one of the running ones, so that another job takes its position.
        state.running[at] -= 1;
        if !state.stopped {
            self.dispatch(lane, &mut state);
        }
        state.operations[at].waiting += 1;
        while state.operations[at].is_running {
            queue.operation_ended.wait(&mut state);
        }
        state.operations[at] = LongOperations { is_running: true, waiting: state.operations[at].waiting - 1 };
        Ok(())
    }

    fn end_operation(&self, lane: Lane, priority: Priority) {
        let queue = self.lane(lane);
        let at = priority.index();
        let mut state = queue.state.lock();
        state.operations[at].is_running = false;
        state.running[at] += 1;
        drop(state);
        queue.operation_ended.notify_all();
    }
}

struct FinishedJob {
    priority: Priority,
    caller: u64,
    estimate: i64,
    used: Duration,
    /// `false` if another caller took over its thread.
    holds_thread: bool,
    stopped: Option<Stopped>,
}

fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
