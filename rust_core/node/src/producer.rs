//! The hand that ticks.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

use crate::{Now, ProductionError, sequencer::Sequencer};

/// Drives the sequencer of a node that produces. [`Node::start`](crate::Node::start) does so on a thread; a test that owns
/// the clock does it itself.
pub struct Producer(Arc<Mutex<Sequencer>>);

impl Producer {
    pub(crate) fn new(sequencer: Arc<Mutex<Sequencer>>) -> Self {
        Self(sequencer)
    }

    /// One tick at `now`. `keep_going` ends the taking of transactions when the step's time budget is spent; it must not
    /// ask for anything of [`Node::control`](crate::Node::control).
    ///
    /// # Errors
    /// Ends production: health is red from here on, reads go on, submissions are refused.
    pub fn tick(&mut self, now: Now, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ProductionError> {
        let mut sequencer = self.0.lock();
        let shared = sequencer.shared.clone();
        let _working = shared.activity.work();
        sequencer.tick(now, keep_going)
    }

    /// Monotonic time at which the block being built is due to be sealed; `None` when blocks are sealed on demand alone.
    pub fn due(&self) -> Option<Duration> {
        self.0.lock().due()
    }

    /// Share of a step's time that may go into taking transactions; the rest is for roots and the sync.
    pub(crate) fn budget(&self) -> Duration {
        self.0.lock().budget()
    }
}
