//! Waiting for the chain to move.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Counts what readers may wait for, so that nothing that happens between a look and a wait is missed:
///
/// ```text
///   seen = count()   look at the view, the pool ...   wait(seen, ...)   again
/// ```
#[derive(Debug, Default)]
pub struct Changes {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Changes {
    /// How many there were so far.
    pub fn count(&self) -> u64 {
        *self.count.lock()
    }

    /// Waits until there are more than `seen`, at most for `most`.
    pub fn wait(&self, seen: u64, most: Duration) {
        let mut count = self.count.lock();
        if *count == seen {
            self.changed.wait_for(&mut count, most);
        }
    }

    /// Counts one more and wakes everybody who waits.
    pub fn notify(&self) {
        *self.count.lock() += 1;
        self.changed.notify_all();
    }
}
