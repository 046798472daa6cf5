//! Deadline checks of a running execution.

use std::time::Duration;

use foreseal_scheduler::{LongOperation, begin_operation};
use revm::context_interface::context::ContextError;

use crate::{deadline::Deadline, interruption::Interruption};

/// Work between two checks, in jump destinations; this many take a few microseconds.
pub(crate) const INTERVAL: u32 = 1024;

/// The deadline of a running execution, stored in revm's context.
///
/// It is checked before every frame and at every [`INTERVAL`]th jump destination, sooner if costly
/// instructions run. No code loops without a jump destination.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeadlineCheck {
    deadline: Option<Deadline>,
    /// Work since the last check, in jump destinations.
    work: u32,
}

impl DeadlineCheck {
    pub fn new(deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), work: 0 }
    }

    /// Fails if the deadline has passed.
    pub fn check_deadline(&self) -> Result<(), ContextError<Interruption>> {
        self.deadline.map_or(Ok(()), Deadline::interrupted).map_err(ContextError::Db)
    }

    /// Adds work; returns `true` if a check is due.
    pub fn add(&mut self, work: u32) -> bool {
        self.work += work;
        let is_due = self.work >= INTERVAL;
        if is_due {
            self.work = 0;
        }
        is_due
    }

    /// Returns `true` if the deadline is strict.
    pub fn is_strict(&self) -> bool {
        self.deadline.is_some_and(Deadline::is_strict)
    }

    /// Fails under a strict deadline, at any time, if the next operation `is_long`.
    pub fn check_long_operation(
        &self,
        is_long: impl FnOnce() -> bool,
    ) -> Result<(), ContextError<Interruption>> {
        match self.deadline {
            Some(deadline) if deadline.is_strict() && is_long() => Err(ContextError::Db(deadline.over())),
            _ => Ok(()),
        }
    }

    /// Prepares for an operation that nothing interrupts and that may take `estimate`. Fails if it would end after the
    /// deadline of a transaction, or if the scheduler does not permit it. May pause the thread to let other jobs run.
    pub fn begin_operation(
        &self,
        estimate: impl FnOnce() -> Duration,
    ) -> Result<LongOperation, ContextError<Interruption>> {
        match self.deadline {
            None => Ok(LongOperation::default()),
            Some(deadline) if deadline.is_estimated() => {
                let is_in_time = estimate() <= deadline.remaining();
                is_in_time.then(LongOperation::default).ok_or_else(|| ContextError::Db(deadline.over()))
            }
            Some(_) => begin_operation(estimate()).map_err(|stopped| ContextError::Db(stopped.into())),
        }
    }
}
