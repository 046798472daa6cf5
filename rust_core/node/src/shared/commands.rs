//! Long commands: one runs at a time, and all end before the node stops.

use std::sync::atomic::{AtomicBool, Ordering};

/// State of the long command that runs, if any.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    is_running: AtomicBool,
    are_ended: AtomicBool,
}

/// A long command; it ends when this value is dropped.
pub(crate) struct RunningCommand<'a>(&'a Commands);

impl Commands {
    /// Begins a command. The caller runs one at a time.
    pub fn begin(&self) -> RunningCommand<'_> {
        self.is_running.store(true, Ordering::Release);
        RunningCommand(self)
    }

    /// Returns `true` while a command runs. Ticks then neither seal nor step, so that the command sees only its own
    /// changes.
    pub fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// Ends the command that runs, and any later one, after its current slice.
    pub fn end(&self) {
        self.are_ended.store(true, Ordering::Release);
    }

    pub fn are_ended(&self) -> bool {
        self.are_ended.load(Ordering::Acquire)
    }
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}
