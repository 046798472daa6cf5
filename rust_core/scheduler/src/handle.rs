//! Handle with which a job submits further jobs.

use std::sync::{Arc, Weak};

use crate::{Job, Lane, SubmitError, scheduler::SchedulerState};

/// Handle on a scheduler that does not extend its life.
#[derive(Clone)]
pub struct SchedulerHandle(Weak<SchedulerState>);

impl SchedulerHandle {
    pub(crate) fn new(state: &Arc<SchedulerState>) -> Self {
        Self(Arc::downgrade(state))
    }

    /// Queues a job like [`Scheduler::submit`](crate::Scheduler::submit).
    ///
    /// # Errors
    ///
    /// Returns the same errors. The work is then not called.
    pub fn submit(&self, lane: Lane, job: Job) -> Result<(), SubmitError> {
        let state = self.0.upgrade().ok_or(SubmitError::Stopping)?;
        state.submit_all(lane, std::iter::once(job))
    }
}
