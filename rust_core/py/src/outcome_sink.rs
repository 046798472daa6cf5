//! Destination of the outcome of a call on a worker thread, and the count of such calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use foreseal_rpc::{PendingBody, Wake};

use crate::completions::{Completions, Finished, Outcome, Urgency};

/// Destination of an outcome.
#[derive(Clone)]
pub enum OutcomeSink {
    /// Python, under this ticket.
    Ticket(u64),
    /// A body with its ticket, and the index of the call.
    Body(Arc<PendingBody>, u64, usize),
}

/// Calls of one job, or of one body of submissions, in the numbers of calls that are queued for, or run on, worker
/// threads: of all callers, and of one.
pub struct RunningCall {
    counters: [Option<Arc<AtomicUsize>>; 2],
    calls: usize,
    is_counted: AtomicBool,
}

impl RunningCall {
    /// Counts `calls` until [`Self::end`], or until it is dropped.
    pub fn begin(total: Arc<AtomicUsize>, caller: Option<Arc<AtomicUsize>>, calls: usize) -> Self {
        let counters = [Some(total), caller];
        for counter in counters.iter().flatten() {
            counter.fetch_add(calls, Ordering::Relaxed);
        }
        Self { counters, calls, is_counted: AtomicBool::new(true) }
    }

    /// Ends the count. Call it before the outcome is delivered: its caller may make the next call at once.
    pub fn end(&self) {
        if self.is_counted.swap(false, Ordering::Relaxed) {
            for counter in self.counters.iter().flatten() {
                counter.fetch_sub(self.calls, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.end();
    }
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
