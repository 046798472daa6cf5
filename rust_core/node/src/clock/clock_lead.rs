//! Lead of the chain over the clock, as it is reported.
//!
//! A chain is ahead of the clock after the clock was ahead and was corrected, or after a takeover from a leader whose
//! clock is ahead.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;

/// Lead up to which there is no warning: clocks of well-synchronized machines differ by less.
pub(crate) const MAX_UNREPORTED: Duration = Duration::from_secs(2);

/// Lead of the newest sealed block over the clock, as of the last tick.
#[derive(Debug, Default)]
pub(crate) struct ClockLead {
    micros: AtomicU64,
    /// `true` after the lead was logged, until the chain agrees with the clock again.
    is_logged: AtomicBool,
    /// Reason for which production pauses.
    pub(crate) pause: Mutex<Option<String>>,
}

impl ClockLead {
    pub(crate) fn get(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Acquire))
    }

    pub(crate) fn set(&self, lead: Duration) {
        self.micros.store(u64::try_from(lead.as_micros()).unwrap_or(u64::MAX), Ordering::Release);
        let lead_ms = u64::try_from(lead.as_millis()).unwrap_or(u64::MAX);
        if lead > MAX_UNREPORTED {
            if !self.is_logged.swap(true, Ordering::AcqRel) {
                tracing::warn!(lead_ms, "the chain is ahead of the clock");
            }
        } else if lead.is_zero() && self.is_logged.swap(false, Ordering::AcqRel) {
            tracing::info!("the chain agrees with the clock again");
        }
    }
}
