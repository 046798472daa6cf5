//! Request to stop, which wakes the threads that sleep.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

/// Request of the process to stop.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    is_stopping: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl StopSignal {
    /// Requests the threads of the node to stop.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        let _guard = self.lock.lock();
        self.wake.notify_all();
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Sleeps for `wait`, or until a stop is requested.
    pub fn sleep(&self, wait: Duration) {
        let mut guard = self.lock.lock();
        if !self.is_stopping() {
            self.wake.wait_for(&mut guard, wait);
        }
    }
}
