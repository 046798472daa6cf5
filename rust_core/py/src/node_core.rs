//! State that all handles of a node share, and the calls that pass through the worker pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use foreseal_chain::View;
use foreseal_rpc::{
    Api, BodyProgress, Error, ExecutionMode, Lanes, Method, PendingBody, PendingVerification, Reply,
    RpcError, Submissions,
};
use foreseal_scheduler::{Caller, Job, Lane, Scheduler, SchedulerHandle, Stopped, SubmitError, Work};

use parking_lot::Mutex;

use crate::caller::PyCaller;
use crate::completions::{Completions, Outcome, Urgency};
use crate::engine_api::EngineListeners;
use crate::lanes;
use crate::outcome_sink::{CallEnd, OutcomeSink, wake};
use crate::pending_calls::{PendingCallSender, PendingCalls};
use crate::running_call::RunningCall;
use crate::streams::Streams;

/// Shared state behind a node, its handles for tiers and administrators, and their views.
pub struct Core {
    /// The methods open to everyone, within the limits of the settings.
    pub api: Arc<Api>,
    pub scheduler: Scheduler,
    pub waits: PendingCalls,
    pub streams: Streams,
    pub completions: Arc<Completions>,
    /// Number of calls that are queued for, or run on, worker threads.
    pub running: Arc<AtomicUsize>,
    /// The listeners for a driver, until the node stops.
    pub engine: Mutex<Option<EngineListeners>>,
}

impl Core {
    /// Answers inline, or submits the call to its lane and returns `None`.
    pub fn call(&self, request: Request<'_>) -> Result<Option<Bytes>, RpcError> {
        let Request { api, view, method, params, ticket, caller } = request;
        let row = foreseal_rpc::method(method).ok_or_else(|| Error::UnknownMethod(method.to_owned()))?;
        if row.mode == ExecutionMode::Inline {
            match api.run(view, row, params) {
                // A job may wait for the view after the unwind.
                Err(error) if error.is_view_gone() => {}
                result => return result.map(Some),
            }
        }
        let end = CallEnd { sink: OutcomeSink::Ticket(ticket), running: self.begin_running(&caller, 1) };
        self.start(api, view.cloned(), row, params.to_vec(), JobOrigin::new(api, ticket, caller.job), end)?;
        Ok(None)
    }

    /// Counts `calls` on the worker threads.
    fn begin_running(&self, caller: &JobCaller, calls: usize) -> Arc<RunningCall> {
        Arc::new(RunningCall::begin(self.running.clone(), caller.running.clone(), calls))
    }

    /// Starts a call in its lane.
    fn start(
        &self,
        api: &Arc<Api>,
        view: Option<Arc<View>>,
        row: &'static Method,
        params: Vec<u8>,
        origin: JobOrigin,
        end: CallEnd,
    ) -> Result<(), RpcError> {
        let lane = match row.lane(&params) {
            // On the sequencer itself no call waits for a remote one.
            Lane::Remote if !api.node().is_worker() => Lane::Heavy,
            lane => lane,
        };
        let urgency = match lane {
            Lane::Submission | Lane::Verification | Lane::Read => Urgency::Urgent,
            Lane::Heavy | Lane::Remote => Urgency::Usual,
        };
        // Clones the fields, not the core: its last reference must not be dropped on one of its own threads.
        let begun = BegunCall {
            api: api.clone(),
            row,
            urgency,
            waits: self.waits.sender(),
            completions: self.completions.clone(),
            scheduler: self.scheduler.handle(),
            origin: origin.clone(),
            end,
        };
        let work: Work = Box::new(move |outcome: Result<(), Stopped>| {
            let begin = |()| begun.api.begin(view.as_ref(), row, &params);
            let reply = outcome.map_err(RpcError::from).and_then(begin);
            begun.proceed(reply);
        });
        self.scheduler.submit(lane, origin.job(work)).map_err(submit_error)
    }

    /// Fails while submissions wait too long for a thread.
    pub fn check_submissions(&self) -> Result<(), String> {
        let oldest = self.scheduler.oldest(Lane::Submission);
        if oldest <= lanes::MAX_SUBMISSION_WAIT {
            return Ok(());
        }
        Err(format!("submissions wait for a thread: the oldest for {} ms", oldest.as_millis()))
    }
}

/// A call to the core.
pub struct Request<'a> {
    pub api: &'a Arc<Api>,
    pub view: Option<&'a Arc<View>>,
    pub method: &'a str,
    /// A JSON array.
    pub params: &'a [u8],
    pub ticket: u64,
    pub caller: JobCaller,
}

/// Caller of the scheduler, and the number of its calls on worker threads.
#[derive(Clone)]
pub struct JobCaller {
    pub job: Caller,
    running: Option<Arc<AtomicUsize>>,
    /// Most of these calls.
    max_calls: Option<usize>,
}

/// Origin of the jobs of one request.
#[derive(Clone)]
struct JobOrigin {
    ticket: u64,
    caller: Caller,
    arrived: Instant,
    limit: Duration,
}

impl JobOrigin {
    fn new(api: &Api, ticket: u64, caller: Caller) -> Self {
        Self { ticket, caller, arrived: Instant::now(), limit: api.time_limit() }
    }

    fn job(&self, work: Work) -> Job {
        let Self { ticket, caller, arrived, limit } = self.clone();
        Job { ticket, caller, arrived, limit, work }
    }
}

/// A call that has begun in a lane.
struct BegunCall {
    api: Arc<Api>,
    row: &'static Method,
    urgency: Urgency,
    waits: PendingCallSender,
    completions: Arc<Completions>,
    scheduler: SchedulerHandle,
    origin: JobOrigin,
    end: CallEnd,
}

impl BegunCall {
    /// Delivers the outcome, waits for it, or continues in the lane for slow checks of submissions.
    fn proceed(self, reply: Result<Reply, RpcError>) {
        match reply {
            Ok(Reply::Ready(answer)) => self.end.deliver(&self.completions, Ok(answer), self.urgency),
            Ok(Reply::Later(wait)) => self.waits.add(self.end, self.row, wait),
            Ok(Reply::Verification(pending)) => self.verify(*pending),
            Err(error) => self.end.deliver(&self.completions, Err(error), self.urgency),
        }
    }

    fn verify(self, pending: PendingVerification) {
        let (scheduler, origin) = (self.scheduler.clone(), self.origin.clone());
        let (completions, urgency, end) = (self.completions.clone(), self.urgency, self.end.clone());
        let work: Work = Box::new(move |outcome: Result<(), Stopped>| {
            let verify = |()| self.api.verify(self.row, pending);
            let reply = outcome.map_err(RpcError::from).and_then(verify);
            self.proceed(reply);
        });
        if let Err(error) = scheduler.submit(Lane::Verification, origin.job(work)) {
            end.deliver(&completions, Err(submit_error(error)), urgency);
        }
    }
}

/// Lanes for the calls of one body.
pub struct BodyLanes {
    core: Arc<Core>,
    caller: JobCaller,
    /// Most calls of all callers.
    max_calls: usize,
    /// Ticket of the body.
    ticket: u64,
    /// Tickets of the jobs that were started.
    jobs: Mutex<Vec<u64>>,
}

/// Next ticket of a body or one of its jobs. Python numbers its own calls from 0.
static NEXT_TICKET: AtomicU64 = AtomicU64::new(1 << 62);

/// Returns another ticket of a body or one of its jobs.
pub fn next_ticket() -> u64 {
    NEXT_TICKET.fetch_add(1, Ordering::Relaxed)
}

impl BodyLanes {
    pub fn new(core: Arc<Core>, caller: Option<&PyCaller>, max_calls: usize, ticket: u64) -> Self {
        Self { core, caller: caller_of(caller), max_calls, ticket, jobs: Mutex::default() }
    }

    /// Ends the jobs before they start, or soon after, except submissions.
    pub fn cancel(&self) {
        for job in self.jobs.lock().drain(..) {
            self.core.scheduler.cancel(job);
        }
    }

    /// Returns the origin of another job of a body of `api`.
    fn origin(&self, api: &Api) -> JobOrigin {
        let ticket = next_ticket();
        self.jobs.lock().push(ticket);
        JobOrigin::new(api, ticket, self.caller.job.clone())
    }
}

impl Lanes for BodyLanes {
    fn room(&self) -> usize {
        let JobCaller { running, max_calls, .. } = &self.caller;
        let own = running.as_ref().map(|own| own.load(Ordering::Relaxed));
        lanes::lane_room(self.core.running.load(Ordering::Relaxed), self.max_calls, own, *max_calls)
    }

    fn start(
        &self,
        body: &Arc<PendingBody>,
        index: usize,
        method: &'static Method,
        params: &str,
    ) -> Result<(), RpcError> {
        let Some(api) = body.api() else { return Err(RpcError::stopping()) };
        let end = CallEnd {
            sink: OutcomeSink::Body(body.clone(), self.ticket, index),
            running: self.core.begin_running(&self.caller, 1),
        };
        let (view, params) = (body.view().cloned(), params.as_bytes().to_vec());
        self.core.start(api, view, method, params, self.origin(api), end)
    }

    fn submit(&self, body: &Arc<PendingBody>, submissions: Submissions) -> bool {
        let Some(api) = body.api() else { return false };
        let running = self.core.begin_running(&self.caller, submissions.chunks());
        let submitted = Arc::new(SubmittedBody {
            submissions,
            body: body.clone(),
            completions: self.core.completions.clone(),
            scheduler: self.core.scheduler.handle(),
            origin: self.origin(api),
            running,
            ticket: self.ticket,
        });
        let chunks = (0..submitted.submissions.chunks()).map(|chunk| {
            let decoded = submitted.clone();
            let work: Work = Box::new(move |outcome: Result<(), Stopped>| match outcome {
                // A missing chunk ends the whole body: its last chunk would never complete.
                Err(stopped) => decoded.stop(&stopped.into()),
                Ok(()) => decoded.proceed(decoded.submissions.work(chunk)),
            });
            submitted.origin.job(work)
        });
        self.core.scheduler.submit_all(Lane::Submission, chunks).is_ok()
    }
}

/// A body of submissions in the worker pool.
struct SubmittedBody {
    submissions: Submissions,
    body: Arc<PendingBody>,
    completions: Arc<Completions>,
    scheduler: SchedulerHandle,
    origin: JobOrigin,
    running: Arc<RunningCall>,
    /// Ticket of the body.
    ticket: u64,
}

impl SubmittedBody {
    /// Delivers the answers once there are all, or continues in the lane for slow checks of submissions.
    fn proceed(self: &Arc<Self>, progress: BodyProgress) {
        match progress {
            BodyProgress::Decoding => {}
            BodyProgress::Answered(outcomes) => self.deliver(outcomes),
            BodyProgress::Verification => {
                let body = self.clone();
                let work: Work = Box::new(move |outcome: Result<(), Stopped>| match outcome {
                    Err(stopped) => body.stop(&stopped.into()),
                    Ok(()) => body.proceed(body.submissions.verify_next()),
                });
                if let Err(error) = self.scheduler.submit(Lane::Verification, self.origin.job(work)) {
                    self.stop(&submit_error(error));
                }
            }
        }
    }

    /// Delivers `error` as the outcome of each call that has none.
    fn stop(&self, error: &RpcError) {
        self.deliver(self.submissions.stop(error));
    }

    fn deliver(&self, outcomes: Vec<Outcome>) {
        self.running.end();
        wake(&self.completions, self.ticket, self.body.finish_all(outcomes), Urgency::Urgent);
    }
}

fn submit_error(error: SubmitError) -> RpcError {
    match error {
        SubmitError::Full { capacity } => RpcError::queue_full(capacity),
        SubmitError::Stopping => RpcError::stopping(),
    }
}

/// Returns the caller of jobs; all calls without one share one place in the fair queue.
pub fn caller_of(caller: Option<&PyCaller>) -> JobCaller {
    match caller {
        None => JobCaller { job: Caller::unlimited(0), running: None, max_calls: None },
        Some(caller) => JobCaller {
            job: caller.caller.clone(),
            running: Some(caller.running.clone()),
            max_calls: caller.max_calls,
        },
    }
}
