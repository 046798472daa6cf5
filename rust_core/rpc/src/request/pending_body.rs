//! Bodies whose calls are not all answered at once.
//!
//! ```text
//! proceed -> Answered: `take_reply`
//!         -> Slice:    proceed again when the receiving thread has time
//!         -> Waiting:  a lane ends a call -> `Wake` -> proceed
//!         -> Call:     Python runs the call -> `answer`, now or later -> proceed
//!         -> Refused:  Python words the refusal -> `answer` -> proceed
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use foreseal_chain::View;
use parking_lot::Mutex;

use super::{
    answers::{Answers, BodyReply, HttpStatus},
    api::Api,
    body_state::{BodyState, ChargeState},
    call_runner::{CallRunner, Slice, Stop},
    call_text::{CallText as _, OwnedCall},
    caller_budget::{CallerBudget, Refusal, transport_time},
    submissions::Submissions,
};
use crate::{
    errors::rpc_error::RpcError,
    methods::{method::Method, submit::SEND},
};

/// Most calls of a body that are started and not answered, so that one batch cannot fill a lane's queue.
const MAX_STARTED: usize = 32;

/// Progress of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All calls are answered.
    Answered,
    /// The next slice may run.
    Slice,
    /// Calls that are started must end first.
    Waiting,
    /// Python runs the call with this index.
    Call(usize),
    /// Python answers the call with this index with the refusal.
    Refused(usize, Refusal),
}

/// Notice to the receiving thread that waits for a body, with the bytes of its answers so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    pub size: usize,
}

/// Lanes of the worker pool.
pub trait Lanes {
    /// Returns the number of calls that the caller may start now.
    fn room(&self) -> usize;

    /// Starts the call of `method` with `params` in its lane, which ends with [`PendingBody::finish`].
    ///
    /// # Errors
    /// Returns the error of the call if its lane has no room.
    fn start(
        &self,
        body: &Arc<PendingBody>,
        index: usize,
        method: &'static Method,
        params: &str,
    ) -> Result<(), RpcError>;

    /// Starts all calls of `body` as a unit, which ends with [`PendingBody::finish_all`] and counts as one call for
    /// each chunk; returns `false` if the lane has no room.
    fn submit(&self, body: &Arc<PendingBody>, submissions: Submissions) -> bool;
}

/// A body whose calls are not all answered.
pub struct PendingBody {
    runner: Arc<CallRunner>,
    calls: Vec<OwnedCall>,
    view: Option<Arc<View>>,
    state: Mutex<BodyState>,
    /// `true` if the answers are dropped.
    is_cancelled: AtomicBool,
}

impl PendingBody {
    pub(super) fn new(
        runner: Arc<CallRunner>,
        calls: Vec<OwnedCall>,
        view: Option<Arc<View>>,
        state: BodyState,
    ) -> Self {
        Self { runner, calls, view, state: Mutex::new(state), is_cancelled: AtomicBool::new(false) }
    }

    /// Returns the methods of the core; `None` if Python owns all.
    pub fn api(&self) -> Option<&Arc<Api>> {
        self.runner.api()
    }

    /// Returns the view that all calls of a batch read.
    pub fn view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }

    /// Returns `true` for a batch.
    pub fn is_batch(&self) -> bool {
        self.state.lock().answers.is_batch
    }

    /// Returns `true` if all calls are started.
    pub fn is_started(&self) -> bool {
        self.state.lock().next == self.calls.len()
    }

    /// Returns `true` if all calls are answered.
    pub fn is_answered(&self) -> bool {
        self.state.lock().answers.count() == self.calls.len()
    }

    /// Returns the method and the parameters of a call for Python; `None` if the request is invalid.
    pub fn request(&self, index: usize) -> Option<(&str, &str)> {
        self.calls.get(index)?.request().ok()
    }

    /// Drops the answers, also later ones: no client waits for them. Calls that end are not counted.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        self.state.lock().answers.clear();
    }

    /// Begins a slice: the next one that is due if the time of this one is over.
    pub fn begin_slice(&self) {
        self.state.lock().slice = Some(Instant::now());
    }

    /// Starts calls within the current slice; of those that need a lane, as many as there is room for.
    ///
    /// With [`Progress::Waiting`], the next call that ends returns a [`Wake`].
    pub fn proceed(self: &Arc<Self>, lanes: &dyn Lanes, budget: Option<&dyn CallerBudget>) -> Progress {
        let entered = Instant::now();
        let progress = loop {
            let mut state = self.state.lock();
            state.is_awaited = false;
            let Some(begun) = state.slice else { break Progress::Slice };
            if state.next < self.calls.len() && state.started() >= MAX_STARTED {
                break Self::wait(&mut state);
            }
            let slice = Slice { budget, begun };
            match self.runner.run(self.view.as_ref(), &self.calls, &mut state, &slice) {
                Stop::Started if state.answers.count() == self.calls.len() => break Progress::Answered,
                Stop::Started => break Self::wait(&mut state),
                Stop::Slice => break Progress::Slice,
                Stop::Refused(refusal) => {
                    state.advance();
                    break Progress::Refused(state.next - 1, refusal);
                }
                Stop::Lane(row) if lanes.room() > 0 => {
                    let method = row.method;
                    if method.name == SEND && self.submit(&mut state, lanes, budget) {
                        continue;
                    }
                    let index = state.next;
                    state.running.insert(index, (method, Instant::now()));
                    state.advance();
                    drop(state);
                    let params = self.request(index).map_or("[]", |(_, params)| params);
                    if let Err(error) = lanes.start(self, index, method, params) {
                        self.finish(index, Err(error));
                    }
                }
                Stop::Lane(_) if !state.running.is_empty() => break Self::wait(&mut state),
                // Without room Python words the refusal.
                Stop::Lane(_) | Stop::Python | Stop::Unchecked | Stop::Malformed => {
                    state.advance();
                    break Progress::Call(state.next - 1);
                }
            }
        };
        if let Some(budget) = budget {
            budget.charge_cpu(entered.elapsed());
        }
        progress
    }

    fn wait(state: &mut BodyState) -> Progress {
        state.is_awaited = true;
        Progress::Waiting
    }

    /// Starts all calls as one body of submissions; returns `false` if they are not.
    fn submit(
        self: &Arc<Self>,
        state: &mut BodyState,
        lanes: &dyn Lanes,
        budget: Option<&dyn CallerBudget>,
    ) -> bool {
        let Some(api) = self.runner.api().filter(|_| state.next == 0 && self.runner.owns_submissions())
        else {
            return false;
        };
        let Some(submissions) = Submissions::new(api, &self.calls) else { return false };
        // Calls of a caller with too few tokens are refused one by one.
        if budget.is_some() && self.calls.len() > 1 && state.charge_state != ChargeState::AllCharged {
            return false;
        }
        if lanes.room() < submissions.chunks() {
            return false;
        }
        // The lane ends calls under the lock that is held, so they count as started before they are.
        let begun = Instant::now();
        if !lanes.submit(self, submissions) {
            return false;
        }
        let method = crate::request::table::method(SEND).expect("it is in the table");
        for index in 0..self.calls.len() {
            state.running.insert(index, (method, begun));
            state.advance();
        }
        true
    }

    /// Adds the outcome of a call that ended in a lane. Returns the notice that is due to the receiving thread.
    pub fn finish(&self, index: usize, outcome: Result<Bytes, RpcError>) -> Option<Wake> {
        let mut state = self.state.lock();
        self.end(&mut state, index, outcome);
        self.wake(&mut state)
    }

    /// Adds the outcomes of all calls, which ended as a unit. Returns the notice that is due to the receiving thread.
    pub fn finish_all(&self, outcomes: Vec<Result<Bytes, RpcError>>) -> Option<Wake> {
        let mut state = self.state.lock();
        let now = Instant::now();
        for (index, outcome) in outcomes.into_iter().enumerate() {
            self.end_at(&mut state, index, outcome, now);
        }
        self.wake(&mut state)
    }

    fn end(&self, state: &mut BodyState, index: usize, outcome: Result<Bytes, RpcError>) {
        self.end_at(state, index, outcome, Instant::now());
    }

    fn end_at(&self, state: &mut BodyState, index: usize, outcome: Result<Bytes, RpcError>, now: Instant) {
        let Some((method, begun)) = state.running.remove(&index) else { return };
        if self.is_cancelled.load(Ordering::Relaxed) {
            state.answers.skip();
            return;
        }
        let row = self.runner.row(method.name);
        self.runner.finish(state, index, self.calls[index].id(), row, now - begun, outcome);
    }

    fn wake(&self, state: &mut BodyState) -> Option<Wake> {
        let is_due = state.answers.count() == self.calls.len() || state.next < self.calls.len();
        let is_awaited = is_due && std::mem::take(&mut state.is_awaited);
        is_awaited.then(|| Wake { size: state.answers.size() })
    }

    /// Adds the outcome of a call that Python ran or refused, with the HTTP status that it has alone. Returns the code
    /// of the error that was added, and the notice that is due to the receiving thread.
    pub fn answer(
        &self,
        index: usize,
        outcome: Result<Bytes, RpcError>,
        status: Option<HttpStatus>,
    ) -> (Option<i64>, Option<Wake>) {
        let mut state = self.state.lock();
        let outcome = state.answers.admit(outcome);
        let code = outcome.as_ref().err().map(|error| error.code);
        let id = self.calls[index].id();
        match status {
            Some(status) => state.answers.add_with_status(index, id, status, outcome),
            None => state.answers.add(index, id, outcome),
        }
        (code, self.wake(&mut state))
    }

    /// Returns the response, once all calls are answered; call it once. Its transport is charged to `budget`.
    pub fn take_reply(&self, budget: Option<&dyn CallerBudget>) -> BodyReply<'static> {
        let mut state = self.state.lock();
        let is_batch = state.answers.is_batch;
        let answers = std::mem::replace(&mut state.answers, Answers::new(is_batch, 0, 0));
        let slow = std::mem::take(&mut state.slow);
        let id = if is_batch { None } else { self.calls[0].response_id() };
        let reply = answers.into_reply(id, slow);
        let transport = transport_time(reply.json.size());
        if let Some(budget) = budget
            && transport > Duration::ZERO
        {
            budget.charge_cpu(transport);
        }
        reply
    }
}
