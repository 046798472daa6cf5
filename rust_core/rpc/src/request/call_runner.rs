//! Runs calls on the receiving thread: finds, charges and counts each, and stops at those that run elsewhere.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use alloy_primitives::map::HashMap;
use bytes::Bytes;
use foreseal_chain::View;
use parking_lot::RwLock;
use serde::de::IgnoredAny;

use super::{
    api::Api,
    attempt::InlineAttempt,
    backoff::AdaptiveBackoff,
    body_state::BodyState,
    call_counts::{
        CallCounter, CallMeasurement, CountedCalls, FailedCalls, FailureCounter, SlowCall, UNKNOWN, add_slow,
    },
    call_text::CallText,
    caller_budget::{CallerBudget, Refusal},
    table::methods,
};
use crate::{
    errors::{
        error::Error,
        rpc_error::{METHOD_NOT_FOUND, RpcError},
    },
    methods::{
        method::{Access, ExecutionMode, Method},
        submit::SEND,
    },
};

/// Longest run of a batch before other requests have their turn.
const MAX_SLICE: Duration = Duration::from_millis(1);

/// Tokens that a call costs, by method.
pub type Costs = std::collections::HashMap<String, u64>;

/// Method that the core serves.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) method: &'static Method,
    /// Tokens that a call costs.
    cost: u64,
    /// `true` if Python owns the method.
    is_excluded: AtomicBool,
    backoff: AdaptiveBackoff,
    counter: CallCounter,
}

impl Row {
    /// Returns `true` if a call on the receiving thread may have effects: those of administrators and of development.
    fn has_effects(&self) -> bool {
        self.method.mode == ExecutionMode::Inline && self.method.access != Access::Everyone
    }
}

/// Owner of a method.
#[derive(Clone, Copy)]
enum Target<'a> {
    Core(&'a Row),
    /// Python, with the row of a method that the core has too.
    Python(Option<&'a Row>),
    Unknown,
}

/// One slice of work on the receiving thread.
pub(super) struct Slice<'a> {
    pub(super) budget: Option<&'a dyn CallerBudget>,
    pub(super) begun: Instant,
}

/// Reason why calls are no longer started.
pub(super) enum Stop<'a> {
    /// All calls are started.
    Started,
    /// The slice is over.
    Slice,
    /// The next call runs in a lane.
    Lane(&'a Row),
    /// Python owns the next call.
    Python,
    /// The next call is refused.
    Refused(Refusal),
    /// The next call has effects, and the body may have a syntax error.
    Unchecked,
    /// The parameters of the next call are not valid JSON.
    Malformed,
}

/// Outcome of a call on the receiving thread; `None` if it needs a lane.
type AtOnce = Option<Result<Bytes, RpcError>>;

/// Methods of the core and of Python, and the counts of their calls.
pub(super) struct CallRunner {
    /// `None` if Python owns all methods.
    api: Option<Arc<Api>>,
    rows: HashMap<&'static str, Row>,
    unknown: CallCounter,
    /// Methods outside the table that Python owns.
    owned: RwLock<HashSet<String>>,
    failed: FailureCounter,
    /// Longest time of a quick call.
    quick: Duration,
}

impl CallRunner {
    pub(super) fn new(api: Option<Arc<Api>>, quick: Duration, costs: &Costs) -> Self {
        let row = |method: &'static Method| Row {
            method,
            cost: costs.get(method.name).copied().unwrap_or(1),
            is_excluded: AtomicBool::new(api.is_none()),
            backoff: AdaptiveBackoff::default(),
            counter: CallCounter::default(),
        };
        let rows = methods().map(|method| (method.name, row(method))).collect();
        let (unknown, owned, failed) = (CallCounter::default(), RwLock::default(), FailureCounter::default());
        Self { api, rows, unknown, owned, failed, quick }
    }

    /// Returns the methods of the core; `None` if Python owns all.
    pub(super) fn api(&self) -> Option<&Arc<Api>> {
        self.api.as_ref()
    }

    /// Excludes `method`, which Python owns, from now on.
    pub(super) fn exclude(&self, method: &str) {
        match self.rows.get(method) {
            Some(row) => row.is_excluded.store(true, Relaxed),
            None => {
                self.owned.write().insert(method.to_owned());
            }
        }
    }

    /// Returns the quick calls since the last `drain_calls`.
    pub(super) fn drain_calls(&self) -> Vec<CountedCalls> {
        let rows = self.rows.values().map(|row| row.counter.drain(row.method.name));
        rows.chain([self.unknown.drain(UNKNOWN)]).filter(|counted| counted.calls > 0).collect()
    }

    /// Returns the failed calls since the last `drain_failed_calls`.
    pub(super) fn drain_failed_calls(&self) -> Vec<FailedCalls> {
        self.failed.drain()
    }

    /// Starts calls from the next one on, and answers those that run at once.
    pub(super) fn run<'a, C: CallText<'a>>(
        &self,
        view: Option<&Arc<View>>,
        calls: &[C],
        state: &mut BodyState,
        slice: &Slice<'_>,
    ) -> Stop<'_> {
        let (mut now, mut is_first, mut last) = (Instant::now(), true, None);
        while let Some(call) = calls.get(state.next) {
            if state.answers.is_batch && now.duration_since(slice.begun) > MAX_SLICE {
                return Stop::Slice;
            }
            let target = call.request().map_or(Target::Unknown, |(method, _)| self.target(method, last));
            if let Err(refusal) = state.charge(slice.budget, cost_of(target), is_first) {
                return Stop::Refused(refusal);
            }
            is_first = false;
            last = if let Target::Core(row) = target { Some(row) } else { None };
            let (row, outcome) = match call.request() {
                Err(error) => (None, Err(error.clone())),
                Ok((method, params)) => {
                    let is_valid = state.is_checked;
                    match (state.answers.exhausted(), target) {
                        // The method is not called, so the call is counted without a name.
                        (Some(error), _) if is_valid || is_json(params) => (None, Err(error)),
                        (None, Target::Unknown) if is_valid || is_json(params) => {
                            (None, Err(Error::UnknownMethod(method.to_owned()).into()))
                        }
                        (Some(_), _) | (None, Target::Unknown) => return Stop::Malformed,
                        (None, Target::Python(_)) => return Stop::Python,
                        (None, Target::Core(row)) if !is_valid && row.has_effects() => {
                            return Stop::Unchecked;
                        }
                        (None, Target::Core(row)) if state.needs_lane => return Stop::Lane(row),
                        (None, Target::Core(row)) => match self.run_at_once(view, row, params, is_valid) {
                            Ok(Some(outcome)) => (Some(row), outcome),
                            Ok(None) => {
                                state.needs_lane = true;
                                return Stop::Lane(row);
                            }
                            Err(Malformed) => return Stop::Malformed,
                        },
                    }
                }
            };
            // The end of one call is the start of the next: reading the clock has a cost.
            let before = std::mem::replace(&mut now, Instant::now());
            self.finish(state, state.next, call.id(), row, now - before, outcome);
            state.advance();
        }
        Stop::Started
    }

    /// Counts a call of `row`, or of an unknown method, and adds its answer.
    pub(super) fn finish(
        &self,
        state: &mut BodyState,
        index: usize,
        id: Option<&str>,
        row: Option<&Row>,
        time: Duration,
        outcome: Result<Bytes, RpcError>,
    ) {
        let outcome = state.answers.admit(outcome);
        self.count(row, &CallMeasurement::new(time, &outcome), &mut state.slow);
        state.answers.add(index, id, outcome);
    }

    /// Returns the outcome of a call on the receiving thread; `None` if it needs a lane.
    fn run_at_once(
        &self,
        view: Option<&Arc<View>>,
        row: &Row,
        params: &str,
        is_checked: bool,
    ) -> Result<AtOnce, Malformed> {
        let Some(api) = &self.api else { return Ok(None) };
        match row.method.mode {
            ExecutionMode::WorkerPool | ExecutionMode::Remote => Ok(None),
            ExecutionMode::Inline if row.has_effects() => {
                let outcome = api.run(view, row.method, params.as_bytes());
                // A lane may wait for the view after the unwind.
                Ok(Some(outcome).filter(|outcome| !outcome.as_ref().is_err_and(RpcError::is_view_gone)))
            }
            ExecutionMode::Inline => {
                attempted(api.attempt(view, row.method, params.as_bytes()), params, is_checked)
            }
            ExecutionMode::FastPath if !row.backoff.admits() => Ok(None),
            ExecutionMode::FastPath => {
                let attempt = api.attempt(view, row.method, params.as_bytes());
                match attempt {
                    InlineAttempt::TooSlowInline => row.backoff.record_slow(),
                    InlineAttempt::Answered(_) | InlineAttempt::Failed(_) => row.backoff.record_fast(),
                    InlineAttempt::TooLargeInline | InlineAttempt::Malformed => {}
                }
                attempted(attempt, params, is_checked)
            }
        }
    }

    /// Returns the tokens that a call costs.
    pub(super) fn cost<'a>(&self, call: &impl CallText<'a>) -> u64 {
        call.request().map_or(1, |(method, _)| self.rows.get(method).map_or(1, |row| row.cost))
    }

    /// Returns `true` if a call is usually short, but may be long.
    pub(super) fn may_be_long<'a>(&self, calls: &[impl CallText<'a>]) -> bool {
        let mut last = None;
        calls.iter().any(|call| {
            let target = call.request().map_or(Target::Unknown, |(method, _)| self.target(method, last));
            last = if let Target::Core(row) = target { Some(row) } else { None };
            last.is_some_and(|row| row.method.mode == ExecutionMode::FastPath)
        })
    }

    /// Returns the owner of a method. Most batches repeat the method of the `last` call.
    fn target<'a>(&'a self, method: &str, last: Option<&'a Row>) -> Target<'a> {
        if let Some(row) = last.filter(|row| row.method.name == method) {
            return Target::Core(row);
        }
        match self.rows.get(method) {
            Some(row) if !row.is_excluded.load(Relaxed) => Target::Core(row),
            Some(row) => Target::Python(Some(row)),
            None if self.api.is_none() || self.owned.read().contains(method) => Target::Python(None),
            None => Target::Unknown,
        }
    }

    /// Returns the row of a method.
    pub(super) fn row(&self, method: &str) -> Option<&Row> {
        self.rows.get(method)
    }

    /// Returns `true` if the core admits submissions of this entrance to its own pool.
    pub(super) fn owns_submissions(&self) -> bool {
        self.rows.get(SEND).is_some_and(|row| !row.is_excluded.load(Relaxed))
            && self.api.as_ref().is_some_and(|api| !api.node().forwards_submissions())
    }

    /// Counts a call; adds it to `slow` if it was not quick.
    fn count(&self, row: Option<&Row>, measured: &CallMeasurement, slow: &mut Vec<SlowCall>) {
        let row = row.filter(|_| measured.code != Some(METHOD_NOT_FOUND));
        let name = row.map_or(UNKNOWN, |row| row.method.name);
        if measured.time > self.quick {
            add_slow(slow, SlowCall { method: name, time: measured.time, size: measured.size, calls: 1 });
        } else {
            row.map_or(&self.unknown, |row| &row.counter).add(measured.time);
        }
        if let Some(code) = measured.code {
            self.failed.add(name, code);
        }
    }
}

/// Parameters are not valid JSON.
struct Malformed;

/// Returns the outcome of an attempt; `None` if the call needs a lane.
fn attempted(attempt: InlineAttempt, params: &str, is_checked: bool) -> Result<AtOnce, Malformed> {
    match attempt {
        InlineAttempt::Answered(result) => Ok(Some(Ok(result))),
        InlineAttempt::Failed(error) => Ok(Some(Err(error))),
        InlineAttempt::Malformed if !is_checked && !is_json(params) => Err(Malformed),
        // Valid JSON in which an object has a name twice: the method itself decides.
        InlineAttempt::Malformed | InlineAttempt::TooSlowInline | InlineAttempt::TooLargeInline => Ok(None),
    }
}

fn cost_of(target: Target<'_>) -> u64 {
    match target {
        Target::Core(row) | Target::Python(Some(row)) => row.cost,
        Target::Python(None) | Target::Unknown => 1,
    }
}

/// Returns `true` if `params`, the content of a pair of brackets, is valid JSON.
pub(super) fn is_json(params: &str) -> bool {
    params == "[]" || serde_json::from_str::<IgnoredAny>(params).is_ok()
}
