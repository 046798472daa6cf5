//! Calls that wait for a step. One thread looks after all of them; none of the threads that answer is held up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use foreseal_rpc::{Api, Method, RpcError, Wait};
use parking_lot::Mutex;

use crate::completions::{Completions, Urgency};

/// A call that waits, and the ticket under which its outcome goes back.
struct Waiting {
    ticket: u64,
    method: &'static Method,
    wait: Wait,
}

/// The calls that wait, and the thread that looks after them.
pub struct Waits {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    api: Arc<Api>,
    completions: Arc<Completions>,
    /// What the thread has not taken over yet.
    added: Mutex<Vec<Waiting>>,
    stopped: AtomicBool,
}

impl Waits {
    /// Starts the thread.
    pub fn start(api: Arc<Api>, completions: Arc<Completions>) -> io::Result<Self> {
        let shared = Shared { api, completions, added: Mutex::default(), stopped: AtomicBool::new(false) };
        let shared = Arc::new(shared);
        let runner = shared.clone();
        let thread = thread::Builder::new().name("foreseal-waits".to_owned()).spawn(move || runner.run())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// A handle to add calls with.
    pub fn adder(&self) -> Adder {
        Adder(self.shared.clone())
    }

    /// Refuses what waits and ends the thread. Blocks until that is done.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.api.node().changes().notify();
        if let Some(thread) = self.thread.lock().take() {
            // Methods are polled under a guard, so the thread cannot have panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Adds calls that wait.
pub struct Adder(Arc<Shared>);

impl Adder {
    /// Lets a call wait; its outcome is pushed to the completions under `ticket`.
    pub fn add(&self, ticket: u64, method: &'static Method, wait: Wait) {
        self.0.added.lock().push(Waiting { ticket, method, wait });
        // It may have been executed before it was added, so it is looked at once now.
        self.0.api.node().changes().notify();
    }
}

/// Longest sleep of the thread when nothing waits.
const IDLE: Duration = Duration::from_hours(1);

impl Shared {
    fn run(&self) {
        let node = self.api.node();
        let mut waiting: Vec<Waiting> = Vec::new();
        let (mut shown, mut answers, mut deadline) = (Weak::new(), 0, None);
        while !self.stopped.load(Ordering::Acquire) {
            let seen = node.changes().count();
            let newest = node.view().map_or_else(Weak::new, |view| Arc::downgrade(&view));
            let answered = node.answers();
            let mut looked_at = std::mem::take(&mut *self.added.lock());
            // In the same view, in time and with production going on, the others have nothing new: else each one added
            // would cost a look at all.
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
        for Waiting { ticket, .. } in waiting.into_iter().chain(std::mem::take(&mut *self.added.lock())) {
            self.completions.push(ticket, Err(RpcError::stopping()), Urgency::Urgent);
        }
    }

    /// Answers the call if it can be answered.
    fn answer(&self, waiting: &Waiting) -> bool {
        let outcome = self.api.poll(waiting.method, &waiting.wait).transpose();
        let Some(outcome) = outcome else { return false };
        self.completions.push(waiting.ticket, outcome, Urgency::Urgent);
        true
    }
}
