//! The loop of production: ticks the sequencer.

use std::{sync::Arc, time::Duration};

use foreseal_chain::ClockReading;
use parking_lot::Mutex;

use crate::{control::sequencer::Sequencer, errors::production_error::ProductionError};

/// Loop of the sequencer of a node that produces blocks. [`Node::start`](crate::Node::start) ticks it on a
/// thread; a test that owns the clock ticks it itself.
pub struct Producer(Arc<Mutex<Sequencer>>);

impl Producer {
    pub(crate) fn new(sequencer: Arc<Mutex<Sequencer>>) -> Self {
        Self(sequencer)
    }

    /// Runs one tick at `now`. `keep_going` returns `false` once the step's time budget is spent, and no more
    /// transactions are selected then. It must not call [`Node::control`](crate::Node::control).
    ///
    /// # Errors
    /// An error ends production: health checks fail from then on, reads are still served, and submissions are
    /// rejected.
    pub fn tick(
        &mut self,
        now: ClockReading,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ProductionError> {
        let mut sequencer = self.0.lock();
        let shared = sequencer.producer.writer.shared.clone();
        let _working = shared.activity.work();
        sequencer.tick(now, keep_going)
    }

    /// Stops each transaction of a step of a timed block after `limit`. It is then executed outside of steps, and added
    /// to a later one. Without this call, a step lasts as long as its transactions.
    pub fn limit_transaction_time(&self, limit: Duration) {
        self.0.lock().producer.limit_transaction_time(limit);
    }

    /// Returns the monotonic time at which the block being built is due to be sealed; `None` if blocks are
    /// sealed only on demand.
    pub fn due(&self) -> Option<Duration> {
        self.0.lock().producer.due()
    }

    /// Proves to other machines that this process still writes the chain, if that is due.
    pub(crate) fn beat(&self) -> Result<(), ProductionError> {
        self.0.lock().producer.writer.beat().map(drop)
    }

    /// Returns the time budget for selecting transactions within a step; the rest is for roots and the fsync.
    pub(crate) fn budget(&self) -> Duration {
        self.0.lock().producer.budget()
    }
}
