//! Calls of one body so far, and what was charged for them.

use std::collections::HashMap;
use std::time::Instant;

use super::{
    answers::Answers,
    call_counts::SlowCall,
    caller_budget::{CallerBudget, Refusal},
};
use crate::methods::method::Method;

/// Tokens of calls that are not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChargeState {
    Due,
    /// The tokens of the next call are charged.
    NextCharged,
    /// The tokens of all calls are charged.
    AllCharged,
}

/// Calls of one body so far.
#[derive(Debug)]
pub(super) struct BodyState {
    /// Index of the first call that is not started.
    pub(super) next: usize,
    /// `true` if the parameters of all calls are valid JSON.
    pub(super) is_checked: bool,
    pub(super) charge_state: ChargeState,
    /// `true` if the next call was tried on the receiving thread, and needs a lane.
    pub(super) needs_lane: bool,
    /// Refusal of the next call.
    pub(super) refusal: Option<Refusal>,
    pub(super) answers: Answers,
    pub(super) slow: Vec<SlowCall>,
    /// Calls in lanes, with the time of their start.
    pub(super) running: HashMap<usize, (&'static Method, Instant)>,
    /// `true` if the receiving thread waits for a lane.
    pub(super) is_awaited: bool,
    /// Start of the slice; `None` before the first one.
    pub(super) slice: Option<Instant>,
}

impl BodyState {
    pub(super) fn new(is_batch: bool, calls: usize, limit: usize, is_checked: bool) -> Self {
        Self {
            next: 0,
            is_checked,
            charge_state: ChargeState::Due,
            needs_lane: false,
            refusal: None,
            answers: Answers::new(is_batch, calls, limit),
            slow: Vec::new(),
            running: HashMap::new(),
            is_awaited: false,
            slice: None,
        }
    }

    /// Charges the next call; `is_first` if it is the first of a slice.
    pub(super) fn charge(
        &mut self,
        budget: Option<&dyn CallerBudget>,
        cost: u64,
        is_first: bool,
    ) -> Result<(), Refusal> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        let Some(budget) = budget else { return Ok(()) };
        match self.charge_state {
            ChargeState::NextCharged => return Ok(()),
            ChargeState::Due => budget.charge(cost)?,
            ChargeState::AllCharged => {
                return match budget.refusal() {
                    Some(refusal @ Refusal::Cpu { .. }) if is_first => Err(refusal),
                    _ => Ok(()),
                };
            }
        }
        self.charge_state = ChargeState::NextCharged;
        Ok(())
    }

    /// Counts the next call as started.
    pub(super) fn advance(&mut self) {
        self.next += 1;
        if self.charge_state == ChargeState::NextCharged {
            self.charge_state = ChargeState::Due;
        }
        self.needs_lane = false;
    }

    /// Returns the number of calls that are started and not answered.
    pub(super) fn started(&self) -> usize {
        self.next - self.answers.count()
    }
}
