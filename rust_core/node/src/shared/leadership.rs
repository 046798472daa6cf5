//! Role of the process in writing the chain, and the confirmation that it needs from a quorum.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Duration,
};

use foreseal_replication::SubmitError;

/// Minimum of the age of the last tick beyond which a leader is not confirmed by its quorum.
const MIN_UNCONFIRMED: Duration = Duration::from_secs(1);

/// Role of the process in writing the chain.
#[derive(Debug)]
pub(crate) struct Leadership {
    /// `true` while this process writes the chain, or will once its journal is replayed.
    leads: AtomicBool,
    /// Age of the last tick, in microseconds, beyond which the quorum has not confirmed this leader; 0 without a
    /// quorum.
    max_unconfirmed: AtomicI64,
}

impl Default for Leadership {
    /// Returns the role of a process that writes the chain without a quorum.
    fn default() -> Self {
        Self { leads: AtomicBool::new(true), max_unconfirmed: AtomicI64::new(0) }
    }
}

impl Leadership {
    /// Returns `true` while this process writes the chain, or will once its journal is replayed.
    pub fn leads(&self) -> bool {
        self.leads.load(Ordering::SeqCst)
    }

    pub fn set_leads(&self, leads: bool) {
        self.leads.store(leads, Ordering::SeqCst);
    }

    /// Records that a quorum must confirm at each tick, which are `step` apart, that this process writes the
    /// chain.
    pub fn set_uses_quorum(&self, step: Duration) {
        let limit = MIN_UNCONFIRMED.max(step * 2).as_micros();
        self.max_unconfirmed.store(i64::try_from(limit).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Returns the age of the last tick beyond which the quorum has not confirmed this leader; `None` without a
    /// quorum.
    pub fn max_unconfirmed(&self) -> Option<Duration> {
        let limit = u64::try_from(self.max_unconfirmed.load(Ordering::SeqCst)).unwrap_or(0);
        (limit > 0).then(|| Duration::from_micros(limit))
    }

    /// Checks that the quorum, if one is needed, has confirmed this leader recently. `age` is that of the last tick.
    pub fn check_quorum(&self, age: Duration) -> Result<(), SubmitError> {
        if self.leads() && self.max_unconfirmed().is_some_and(|limit| age > limit) {
            let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            return Err(SubmitError::NoQuorum { age_ms });
        }
        Ok(())
    }
}
