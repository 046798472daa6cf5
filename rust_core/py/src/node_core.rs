//! State that all handles of a node share, and the calls that pass through the worker pool.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use foreseal_chain::View;
use foreseal_rpc::{
    Answered, Api, BodyProgress, Error, ExecutionMode, Method, PendingVerification, Reply, RpcError,
    Submissions,
};
use foreseal_scheduler::{Caller, Job, Lane, Scheduler, SchedulerHandle, Stopped, SubmitError, Work};

use parking_lot::Mutex;

use crate::caller::PyCaller;
use crate::completions::{Completions, Finished, Urgency};
use crate::engine_api::EngineListeners;
use crate::lanes;
use crate::pending_calls::{PendingCallSender, PendingCalls};
use crate::responses::SubmissionResponse;
use crate::streams::Streams;

/// Shared state behind a node, its handles for tiers and administrators, and their views.
pub struct Core {
    /// The methods open to everyone, within the limits of the settings.
    pub api: Arc<Api>,
    pub scheduler: Scheduler,
    pub waits: PendingCalls,
    pub streams: Streams,
    pub completions: Arc<Completions>,
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
        let lane = match row.lane(params) {
            // On the sequencer itself no call waits for a remote one.
            Lane::Remote if !api.node().is_follower() => Lane::Heavy,
            lane => lane,
        };
        let urgency = match lane {
            Lane::Submission | Lane::Verification | Lane::Read => Urgency::Urgent,
            Lane::Heavy | Lane::Remote => Urgency::Usual,
        };
        let origin = JobOrigin::new(api, ticket, caller);
        // Clones the fields, not the core: its last reference must not be dropped on one of its own threads.
        let begun = BegunCall {
            api: api.clone(),
            row,
            urgency,
            waits: self.waits.sender(),
            completions: self.completions.clone(),
            scheduler: self.scheduler.handle(),
            origin: origin.clone(),
        };
        let (view, params) = (view.cloned(), params.to_vec());
        let work: Work = Box::new(move |outcome: Result<(), Stopped>| {
            let begin = |()| begun.api.begin(view.as_ref(), row, &params);
            let reply = outcome.map_err(RpcError::from).and_then(begin);
            begun.proceed(reply);
        });
        self.scheduler.submit(lane, origin.job(work)).map_err(submit_error)?;
        Ok(None)
    }

    /// Submits the pieces of a body of submissions; returns `true` if the lane had room for them.
    pub fn submit(
        &self,
        submissions: Submissions,
        whole: SubmissionResponse,
        ticket: u64,
        caller: &Caller,
    ) -> bool {
        let body = Arc::new(SubmittedBody {
            submissions,
            whole,
            completions: self.completions.clone(),
            scheduler: self.scheduler.handle(),
            origin: JobOrigin::new(&self.api, ticket, caller.clone()),
        });
        let slices = (0..body.submissions.slices()).map(|piece| {
            let decoded = body.clone();
            let work: Work = Box::new(move |outcome: Result<(), Stopped>| match outcome {
                // A missing piece ends the whole body: its last piece would never complete.
                Err(stopped) => decoded.stop(&stopped.into()),
                Ok(()) => decoded.proceed(decoded.submissions.work(piece)),
            });
            body.origin.job(work)
        });
        self.scheduler.submit_all(Lane::Submission, slices).is_ok()
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
    pub caller: Caller,
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
}

impl BegunCall {
    /// Delivers the outcome, waits for it, or continues in the lane for slow checks of submissions.
    fn proceed(self, reply: Result<Reply, RpcError>) {
        let ticket = self.origin.ticket;
        match reply {
            Ok(Reply::Ready(answer)) => self.completions.push(ticket, Ok(answer), self.urgency),
            Ok(Reply::Later(wait)) => self.waits.add(ticket, self.row, wait),
            Ok(Reply::Verification(pending)) => self.verify(*pending),
            Err(error) => self.completions.push(ticket, Err(error), self.urgency),
        }
    }

    fn verify(self, pending: PendingVerification) {
        let (scheduler, origin) = (self.scheduler.clone(), self.origin.clone());
        let (completions, urgency) = (self.completions.clone(), self.urgency);
        let work: Work = Box::new(move |outcome: Result<(), Stopped>| {
            let verify = |()| self.api.verify(self.row, pending);
            let reply = outcome.map_err(RpcError::from).and_then(verify);
            self.proceed(reply);
        });
        if let Err(error) = scheduler.submit(Lane::Verification, origin.job(work)) {
            completions.push(origin.ticket, Err(submit_error(error)), urgency);
        }
    }
}

/// A body of submissions in the worker pool.
struct SubmittedBody {
    submissions: Submissions,
    whole: SubmissionResponse,
    completions: Arc<Completions>,
    scheduler: SchedulerHandle,
    origin: JobOrigin,
}

impl SubmittedBody {
    /// Delivers the answers once there are all, or continues in the lane for slow checks of submissions.
    fn proceed(self: &Arc<Self>, progress: BodyProgress) {
        match progress {
            BodyProgress::Decoding => {}
            BodyProgress::Answered(answers) => self.deliver(answers),
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

    fn deliver(&self, answers: Vec<Answered>) {
        let rendered = self.whole.render(&answers);
        self.finish(rendered.map_or(Finished::Body(answers), Finished::Submissions));
    }

    /// Delivers `error` as the answer of each call that has none.
    fn stop(&self, error: &RpcError) {
        self.deliver(self.submissions.stop(error));
    }

    fn finish(&self, finished: Finished) {
        self.completions.finish(self.origin.ticket, finished, Urgency::Urgent);
    }
}

fn submit_error(error: SubmitError) -> RpcError {
    match error {
        SubmitError::Full { capacity } => RpcError::queue_full(capacity),
        SubmitError::Stopping => RpcError::stopping(),
    }
}

/// Returns the scheduler's caller; all calls without one share one place in the fair queue.
pub fn caller_of(caller: Option<&PyCaller>) -> Caller {
    caller.map_or_else(|| Caller::unlimited(0), |caller| caller.caller.clone())
}
