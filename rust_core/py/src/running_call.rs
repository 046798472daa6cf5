//! The count of calls on worker threads.

use std::sync::Arc;

use crate::sync::{AtomicBool, AtomicUsize, Ordering};

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
