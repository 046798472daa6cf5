//! Notification of changes to the chain.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Counter of events that readers wait for. Reading the counter first ensures that no event between a check
/// and a wait is missed:
///
/// ```text
///   seen = count()   check the view, the pool ...   wait(seen, ...)   repeat
/// ```
#[derive(Debug, Default)]
pub struct Changes {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Changes {
    /// Returns the number of events so far.
    pub fn count(&self) -> u64 {
        *self.count.lock()
    }

    /// Blocks until the count differs from `seen`, or until `timeout` has elapsed.
    pub fn wait(&self, seen: u64, timeout: Duration) {
        let mut count = self.count.lock();
        if *count == seen {
            self.changed.wait_for(&mut count, timeout);
        }
    }

    /// Counts an event and wakes all waiting threads.
    pub fn notify(&self) {
        *self.count.lock() += 1;
        self.changed.notify_all();
    }
}
