//! Timing of a connection.

use std::{sync::Arc, time::Duration};

use crate::wire::HEARTBEAT_INTERVAL;
use foreseal_chain::{Clock, SystemClock};

/// Number of appends within which a follower gets the pool; events that happen meanwhile fit into the ring.
const NEAR: u64 = 16;

/// Time source and timeouts of a connection.
pub struct Pace {
    /// Clock for heartbeats: the machine's, even if the chain runs on another.
    clock: Arc<dyn Clock>,
    /// Maximum time to block for an event.
    pub(super) wait: Duration,
    /// Number of appends within which a follower gets the pool.
    pub(super) near: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock::default()), wait: HEARTBEAT_INTERVAL, near: NEAR }
    }
}

impl Pace {
    /// Returns the timing for a simulation, which never blocks. A follower that is at most `near` appends behind
    /// gets the pool.
    pub fn manual(clock: Arc<dyn Clock>, near: u64) -> Self {
        Self { clock, wait: Duration::ZERO, near }
    }

    /// Returns the clock for timeouts.
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    pub(super) fn since(&self, then: Duration) -> Duration {
        self.now().saturating_sub(then)
    }
}
