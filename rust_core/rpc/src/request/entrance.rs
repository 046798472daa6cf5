//! Entrance of request bodies: parses each once, and answers it as far as that is possible at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use foreseal_chain::View;

use super::{
    answers::BodyReply,
    api::Api,
    backoff::AdaptiveBackoff,
    body_state::{BodyState, ChargeState},
    call_counts::{CountedCalls, FailedCalls},
    call_runner::{CallRunner, Costs, Slice, Stop, is_json},
    call_text::{CallText, OwnedCall},
    caller_budget::{CallerBudget, Refusal, transport_time},
    envelope::{
        CommonBody,
        general::{BodyLimits, parse_any},
        parse_common,
    },
    pending_body::PendingBody,
};
use crate::errors::rpc_error::RpcError;

/// Size in bytes above which a body is not parsed for a caller whose budget is exhausted.
const MAX_EXHAUSTED_BODY: usize = 2 << 10;

/// Limits of an entrance.
#[derive(Clone, Copy, Debug)]
pub struct EntranceLimits {
    /// Largest result, in bytes; the results of a batch share it.
    pub response: usize,
    /// Limits of a body.
    pub body: BodyLimits,
    /// Size in bytes above which a body is not parsed at once.
    pub parsed: usize,
    /// Longest time of a quick call. A longer one is returned to the caller with its time.
    pub quick: Duration,
}

/// Caller of a request.
#[derive(Clone, Copy, Default)]
pub struct RequestCaller<'a> {
    /// Budgets of a caller with limits.
    pub budget: Option<&'a dyn CallerBudget>,
    /// `true` for a connection without HTTP statuses: each call of a batch is refused by itself.
    pub is_connection: bool,
}

/// A body that has entered.
pub enum Entered<'a> {
    Answered(BodyReply<'a>),
    Pending(Arc<PendingBody>),
    /// The body is large and not parsed yet: enter it again with `may_be_large` when there is time.
    Large,
}

/// Entrance of request bodies.
pub struct Entrance {
    runner: Arc<CallRunner>,
    limits: EntranceLimits,
    /// Backoff of first slices of batches with calls that may be long.
    batches: AdaptiveBackoff,
}

impl Entrance {
    /// Serves the methods of `api`; without it Python owns all methods. A call costs one token of its caller's budget,
    /// or its entry in `costs`.
    pub fn new(api: Option<Arc<Api>>, limits: EntranceLimits, costs: &Costs) -> Self {
        let runner = Arc::new(CallRunner::new(api, limits.quick, costs));
        Self { runner, limits, batches: AdaptiveBackoff::default() }
    }

    /// Returns the methods that are served; `None` if Python owns all.
    pub fn api(&self) -> Option<&Arc<Api>> {
        self.runner.api()
    }

    /// Excludes `method`, which Python owns, from now on.
    pub fn exclude(&self, method: &str) {
        self.runner.exclude(method);
    }

    /// Returns the quick calls since the last `drain_calls`.
    pub fn drain_calls(&self) -> Vec<CountedCalls> {
        self.runner.drain_calls()
    }

    /// Returns the failed calls since the last `drain_failed_calls`.
    pub fn drain_failed_calls(&self) -> Vec<FailedCalls> {
        self.runner.drain_failed_calls()
    }

    /// Answers `body` from `view` as far as that is possible at once.
    ///
    /// Parsing, calls and their results are charged to the budget of `caller`.
    pub fn respond<'a>(
        &self,
        view: Option<&Arc<View>>,
        body: &'a [u8],
        caller: &RequestCaller<'_>,
        may_be_large: bool,
    ) -> Entered<'a> {
        let Some(budget) = caller.budget else { return self.enter(view, body, caller, may_be_large) };
        let begun = Instant::now();
        if body.len() > MAX_EXHAUSTED_BODY
            && let Some(refusal) = budget.refusal()
        {
            return Entered::Pending(self.refused(refusal));
        }
        let entered = self.enter(view, body, caller, may_be_large);
        let transport = if let Entered::Answered(reply) = &entered {
            transport_time(reply.json.size())
        } else {
            Duration::ZERO
        };
        budget.charge_cpu(begun.elapsed() + transport);
        entered
    }

    fn enter<'a>(
        &self,
        view: Option<&Arc<View>>,
        body: &'a [u8],
        caller: &RequestCaller<'_>,
        may_be_large: bool,
    ) -> Entered<'a> {
        if body.len() > self.limits.parsed && !may_be_large {
            return Entered::Large;
        }
        let (limits, mut charge_state) = (&self.limits.body, ChargeState::Due);
        let common = match parse_common(body, limits.depth, limits.batch) {
            Some(CommonBody::Call(call)) => {
                self.begin(view, &[call], false, false, caller, &mut charge_state)
            }
            Some(CommonBody::Batch(calls)) => {
                self.begin(view, &calls, true, false, caller, &mut charge_state)
            }
            None => None,
        };
        if let Some(entered) = common {
            return entered;
        }
        let parsed = match parse_any(body, limits) {
            Ok(parsed) => self.begin(view, &parsed.calls, parsed.is_batch, true, caller, &mut charge_state),
            Err(error) => {
                let calls = [OwnedCall::rejected(error)];
                self.begin(view, &calls, false, true, caller, &mut charge_state)
            }
        };
        parsed.expect("the body is valid JSON")
    }

    /// Begins a body with these calls; returns `None`, with no effect of its calls, if parameters are not valid JSON.
    /// `is_checked`: they are valid. A body that begins again is not charged again: `charge_state` is what was charged.
    fn begin<'a, C: CallText<'a>>(
        &self,
        view: Option<&Arc<View>>,
        calls: &[C],
        is_batch: bool,
        is_checked: bool,
        caller: &RequestCaller<'_>,
        charge_state: &mut ChargeState,
    ) -> Option<Entered<'a>> {
        let mut state = BodyState::new(is_batch, calls.len(), self.limits.response, is_checked);
        state.charge_state = *charge_state;
        if is_batch
            && *charge_state == ChargeState::Due
            && let Some(budget) = caller.budget
        {
            if !caller.is_connection
                && let Some(refusal) = budget.refusal()
            {
                return Some(Entered::Pending(self.refused(refusal)));
            }
            if budget.charge_all(calls.iter().map(|call| self.runner.cost(call)).sum()) {
                state.charge_state = ChargeState::AllCharged;
            }
        }
        let may_be_long = is_batch && self.runner.may_be_long(calls);
        if !may_be_long || self.batches.admits() {
            let slice = Slice { budget: caller.budget, begun: Instant::now() };
            state.slice = Some(slice.begun);
            match self.runner.run(view, calls, &mut state, &slice) {
                Stop::Malformed => {
                    *charge_state = state.charge_state;
                    return None;
                }
                Stop::Started => {
                    if may_be_long {
                        self.batches.record_fast();
                    }
                    let id = if is_batch { None } else { calls[0].response_id() };
                    return Some(Entered::Answered(state.answers.into_reply(id, state.slow)));
                }
                Stop::Slice if may_be_long => self.batches.record_slow(),
                Stop::Slice | Stop::Lane(_) | Stop::Python | Stop::Refused(_) | Stop::Unchecked => {}
            }
        }
        // The calls that are left may have effects, and a body with a syntax error must have none.
        let are_valid = |call: &C| call.request().is_ok_and(|(_, params)| is_json(params));
        if !is_checked && !calls[state.next..].iter().all(are_valid) {
            *charge_state = state.charge_state;
            return None;
        }
        state.is_checked = true;
        let calls = calls.iter().map(OwnedCall::new).collect();
        Some(Entered::Pending(Arc::new(PendingBody::new(self.runner.clone(), calls, view.cloned(), state))))
    }

    /// Returns a body that is refused as a whole.
    fn refused(&self, refusal: Refusal) -> Arc<PendingBody> {
        let mut state = BodyState::new(false, 1, self.limits.response, true);
        state.refusal = Some(refusal);
        state.slice = Some(Instant::now());
        let calls = vec![OwnedCall::rejected(RpcError::invalid_request("refused"))];
        Arc::new(PendingBody::new(self.runner.clone(), calls, None, state))
    }
}
