//! Callers and their budgets of processor time.

use std::{fmt, sync::Arc, time::Duration};

/// Class of a caller. Within a lane, dedicated callers are served before public ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Dedicated,
    Public,
}

impl Priority {
    pub(crate) const ALL: [Self; 2] = [Self::Dedicated, Self::Public];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// An exhausted budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Time until the budget is positive again.
    pub retry_after: Duration,
}

/// A caller's budget of processor time.
pub trait CallerCpuBudget: Send + Sync {
    /// Charges `used` to the budget, which may go into debt.
    ///
    /// # Errors
    ///
    /// Returns [`Exhausted`] once nothing is left.
    fn charge(&self, used: Duration) -> Result<(), Exhausted>;
}

/// The caller that a job belongs to: an API key or an IP address.
#[derive(Clone)]
pub struct Caller {
    /// Callers with the same id share one queue position.
    pub id: u64,
    pub priority: Priority,
    /// `None`: processor time is not limited.
    pub budget: Option<Arc<dyn CallerCpuBudget>>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, priority, budget } = self;
        let limited = budget.is_some();
        f.debug_struct("Caller")
            .field("id", id)
            .field("priority", priority)
            .field("limited", &limited)
            .finish()
    }
}

impl Caller {
    /// Returns a dedicated caller without a budget.
    pub fn unlimited(id: u64) -> Self {
        Self { id, priority: Priority::Dedicated, budget: None }
    }
}
