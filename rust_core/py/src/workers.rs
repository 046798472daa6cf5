//! Core threads: they run the calls that are too long for the event loop.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::{io, thread};

use foreseal_rpc::RpcError;
use parking_lot::{Condvar, Mutex};

use crate::completions::{Completions, Finished};

/// Work whose outcome goes back under a ticket; `None` when somebody else will push it.
pub type Work = Box<dyn FnOnce() -> Option<Finished> + Send>;

/// A few threads and a bounded queue before them.
pub struct Workers {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    capacity: usize,
}

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    completions: Arc<Completions>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(u64, Work)>,
    stopped: bool,
}

impl Workers {
    /// Starts `threads` threads; at most `capacity` calls wait for one of them.
    pub fn start(threads: usize, capacity: usize, completions: Arc<Completions>) -> io::Result<Self> {
        let queue = Arc::new(Queue { state: Mutex::default(), changed: Condvar::new(), completions });
        let workers = Self { queue, threads: Mutex::default(), capacity };
        for index in 0..threads {
            let queue = workers.queue.clone();
            let thread = thread::Builder::new().name(format!("foreseal-core-{index}"));
            workers.threads.lock().push(thread.spawn(move || queue.run())?);
        }
        Ok(workers)
    }

    /// Hands work over; its outcome is pushed to the completions under `ticket`.
    pub fn submit(&self, ticket: u64, work: Work) -> Result<(), RpcError> {
        self.submit_all(ticket, std::iter::once(work))
    }

    /// Hands over the pieces of one work, all or none. They are refused together as well.
    pub fn submit_all(
        &self,
        ticket: u64,
        pieces: impl ExactSizeIterator<Item = Work>,
    ) -> Result<(), RpcError> {
        let mut state = self.queue.state.lock();
        if state.stopped {
            return Err(RpcError::stopping());
        }
        if state.waiting.len() + pieces.len() > self.capacity {
            return Err(RpcError::queue_full(self.capacity));
        }
        for piece in pieces {
            state.waiting.push_back((ticket, piece));
            self.queue.changed.notify_one();
        }
        Ok(())
    }

    /// Refuses what waits, finishes what runs, and ends the threads. Blocks until that is done.
    pub fn stop(&self) {
        let waiting = {
            let mut state = self.queue.state.lock();
            state.stopped = true;
            std::mem::take(&mut state.waiting)
        };
        self.queue.changed.notify_all();
        for (ticket, _) in waiting {
            self.queue.completions.push(ticket, Err(RpcError::stopping()));
        }
        for thread in self.threads.lock().drain(..) {
            // Methods are run under a guard, so a thread cannot have panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Queue {
    fn run(&self) {
        while let Some((ticket, work)) = self.next() {
            if let Some(finished) = work() {
                self.completions.finish(ticket, finished);
            }
        }
    }

    /// The next work; `None` when the workers are stopped and everything is done.
    fn next(&self) -> Option<(u64, Work)> {
        let mut state = self.state.lock();
        loop {
            if let Some(next) = state.waiting.pop_front() {
                return Some(next);
            }
            if state.stopped {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}
