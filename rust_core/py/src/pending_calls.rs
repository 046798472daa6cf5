//! Calls that wait for a step. One thread polls all of them, so no worker thread is blocked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use foreseal_rpc::{Api, Method, PendingCall, RpcError};
use parking_lot::Mutex;

use crate::completions::{Completions, Urgency};
use crate::outcome_sink::CallEnd;

/// A waiting call, and the end of it.
struct WaitingCall {
    end: CallEnd,
    method: &'static Method,
    wait: PendingCall,
}

/// The waiting calls, and the thread that polls them.
pub struct PendingCalls {
    shared: Arc<PollerState>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct PollerState {
    api: Arc<Api>,
    completions: Arc<Completions>,
    /// Calls that the thread has not picked up yet.
    added: Mutex<Vec<WaitingCall>>,
    stopped: AtomicBool,
}

impl PendingCalls {
    /// Starts the thread.
    pub fn start(api: Arc<Api>, completions: Arc<Completions>) -> io::Result<Self> {
        let shared =
            PollerState { api, completions, added: Mutex::default(), stopped: AtomicBool::new(false) };
        let shared = Arc::new(shared);
        let runner = shared.clone();
        let thread = thread::Builder::new().name("foreseal-waits".to_owned()).spawn(move || runner.run())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Returns a handle that adds calls.
    pub fn sender(&self) -> PendingCallSender {
        PendingCallSender(self.shared.clone())
    }

    /// Rejects the waiting calls and ends the thread. Blocks until this is done.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.api.node().changes().notify();
        if let Some(thread) = self.thread.lock().take() {
            // Methods are polled under a panic guard, so the thread cannot have panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for PendingCalls {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Handle that adds waiting calls.
pub struct PendingCallSender(Arc<PollerState>);

impl PendingCallSender {
    /// Adds a waiting call; its outcome goes to `end`.
    pub fn add(&self, end: CallEnd, method: &'static Method, wait: PendingCall) {
        self.0.added.lock().push(WaitingCall { end, method, wait });
        // The step may have been executed before the call was added, so it is polled once now.
        self.0.api.node().changes().notify();
    }
}

/// Longest sleep of the thread when nothing waits.
const IDLE: Duration = Duration::from_hours(1);

impl PollerState {
    fn run(&self) {
        let node = self.api.node();
        let mut waiting: Vec<WaitingCall> = Vec::new();
        let (mut shown, mut answers, mut deadline) = (Weak::new(), 0, None);
        while !self.stopped.load(Ordering::Acquire) {
            let seen = node.changes().count();
            let newest = node.view().map_or_else(Weak::new, |view| Arc::downgrade(&view));
            let answered = node.answers();
            let mut looked_at = std::mem::take(&mut *self.added.lock());
            // If the view is the same, no deadline has passed and production runs, the other calls have
            // nothing new. Without this check each added call would poll all of them.
            if !Weak::ptr_eq(&shown, &newest)
                || answers != answered
                || node.check_production().is_err()
                || deadline.is_some_and(|deadline| node.now().monotonic >= deadline)
            {
                looked_at.append(&mut waiting);
            }
            (shown, answers) = (newest, answered);
            looked_at.retain(|waiting| !self.answer(waiting));
            waiting.append(&mut looked_at);
            deadline = waiting.iter().map(|waiting| waiting.wait.deadline()).min();
            let sleep =
                deadline.map_or(IDLE, |deadline| deadline.saturating_sub(node.now().monotonic).min(IDLE));
            node.changes().wait(seen, sleep);
        }
        for WaitingCall { end, .. } in waiting.into_iter().chain(std::mem::take(&mut *self.added.lock())) {
            end.deliver(&self.completions, Err(RpcError::stopping()), Urgency::Urgent);
        }
    }

    /// Answers the call if its outcome is ready.
    fn answer(&self, waiting: &WaitingCall) -> bool {
        let outcome = self.api.poll(waiting.method, &waiting.wait).transpose();
        let Some(outcome) = outcome else { return false };
        waiting.end.deliver(&self.completions, outcome, Urgency::Urgent);
        true
    }
}
