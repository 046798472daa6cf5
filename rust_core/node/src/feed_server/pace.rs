//! How a connection waits.

use std::{sync::Arc, time::Duration};

use super::connection::BEAT;
use crate::{Clock, SystemClock};

/// Appends behind which a follower gets the pool: what comes meanwhile fits into the ring.
const NEAR: u64 = 16;

/// When something is said again, and how long is waited for something to say.
pub(crate) struct Pace {
    /// Says when signs of life are due: the machine's, whatever clock the chain runs on.
    clock: Arc<dyn Clock>,
    /// Longest wait for something to happen.
    pub wait: Duration,
    /// Appends behind which a follower gets the pool.
    pub near: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock::default()), wait: BEAT, near: NEAR }
    }
}

impl Pace {
    /// Of a simulation: it never waits.
    pub fn by_hand(clock: Arc<dyn Clock>, near: u64) -> Self {
        Self { clock, wait: Duration::ZERO, near }
    }

    pub fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    pub fn since(&self, then: Duration) -> Duration {
        self.now().saturating_sub(then)
    }
}
