//! State that all handles of a node share, and the calls that pass through the worker pool.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use foreseal_chain::View;
use foreseal_rpc::{Api, Error, ExecutionMode, Reply, RpcError, Submissions};
use foreseal_scheduler::{Caller, Job, Lane, Scheduler, Stopped, SubmitError, Work};

use parking_lot::Mutex;

use crate::caller::PyCaller;
use crate::completions::{Completions, Finished, Urgency};
use crate::engine_api::EngineListeners;
use crate::lanes;
use crate::pending_calls::PendingCalls;
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
            return api.run(view, row, params).map(Some);
        }
        let lane = match row.lane(params) {
            // On the sequencer itself no call waits for a remote one.
            Lane::Remote if !api.node().is_follower() => Lane::Heavy,
            lane => lane,
        };
        let urgency = match lane {
            Lane::Submission | Lane::Read => Urgency::Urgent,
            Lane::Heavy | Lane::Remote => Urgency::Usual,
        };
        let limit = api.time_limit();
        // Clones the fields, not the core: its last reference must not be dropped on one of its own threads.
        let (api, waits, completions) = (api.clone(), self.waits.sender(), self.completions.clone());
        let (view, params) = (view.cloned(), params.to_vec());
        let work: Work = Box::new(move |outcome: Result<(), Stopped>| {
            let reply = outcome.map_err(RpcError::from).and_then(|()| api.begin(view.as_ref(), row, &params));
            match reply {
                Ok(Reply::Ready(answer)) => completions.push(ticket, Ok(answer), urgency),
                Ok(Reply::Later(wait)) => waits.add(ticket, row, wait),
                Err(error) => completions.push(ticket, Err(error), urgency),
            }
        });
        let job = Job { ticket, caller, arrived: Instant::now(), limit, work };
        self.scheduler.submit(lane, job).map_err(submit_error)?;
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
        let (arrived, limit) = (Instant::now(), self.api.time_limit());
        let shared = Arc::new((submissions, whole));
        let slices = (0..shared.0.slices()).map(|piece| {
            let (shared, completions) = (shared.clone(), self.completions.clone());
            let work: Work = Box::new(move |outcome: Result<(), Stopped>| {
                let (submissions, whole) = &*shared;
                if let Err(stopped) = outcome {
                    // A missing piece ends the whole body: its last piece would never complete.
                    let rejected = Finished::Body(submissions.reject(&stopped.into()));
                    completions.finish(ticket, rejected, Urgency::Urgent);
                } else if let Some(answers) = submissions.work(piece) {
                    let finished =
                        whole.render(&answers).map_or(Finished::Body(answers), Finished::Submissions);
                    completions.finish(ticket, finished, Urgency::Urgent);
                }
            });
            Job { ticket, caller: caller.clone(), arrived, limit, work }
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
