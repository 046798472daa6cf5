//! Destination of the outcome of a call on a worker thread.

use std::sync::Arc;

use foreseal_rpc::{PendingBody, Wake};

use crate::completions::{Completions, Finished, Outcome, Urgency};
use crate::running_call::RunningCall;

/// Destination of an outcome.
#[derive(Clone)]
pub enum OutcomeSink {
    /// Python, under this ticket.
    Ticket(u64),
    /// A body with its ticket, and the index of the call.
    Body(Arc<PendingBody>, u64, usize),
}

/// Sink of one call, and its place in the count.
#[derive(Clone)]
pub struct CallEnd {
    pub sink: OutcomeSink,
    pub running: Arc<RunningCall>,
}

impl CallEnd {
    /// Delivers the outcome of a call.
    pub fn deliver(&self, completions: &Completions, outcome: Outcome, urgency: Urgency) {
        match &self.sink {
            OutcomeSink::Ticket(ticket) => {
                self.running.end();
                completions.finish(*ticket, Finished::Call(outcome), urgency);
            }
            OutcomeSink::Body(body, ticket, index) => {
                self.running.end();
                wake(completions, *ticket, body.finish(*index, outcome), urgency);
            }
        }
    }
}

/// Notifies the event loop of a body that waits for a call.
pub fn wake(completions: &Completions, ticket: u64, wake: Option<Wake>, urgency: Urgency) {
    if let Some(Wake { size }) = wake {
        completions.finish(ticket, Finished::Body { size }, urgency);
    }
}
