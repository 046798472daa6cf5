//! Memory that the chain no longer uses.

use std::sync::Arc;

use foreseal_chain::{Chain, ExpiredBlocks, Recorded, View};
use imbl::Vector;

/// The parts of a chain that a change replaced. They are the last references to many transactions, so dropping them
/// takes time; a tick drops them after its step, when the writer would be idle.
#[must_use = "it takes long to drop, so the caller chooses when"]
#[derive(Debug)]
#[expect(dead_code, reason = "the fields are held until they are dropped")]
pub(crate) struct Retired {
    chain: Chain,
    expired: ExpiredBlocks,
    steps: Vector<Recorded>,
    view: Option<Arc<View>>,
}

impl Retired {
    pub fn new(chain: Chain, expired: ExpiredBlocks) -> Self {
        Self { chain, expired, steps: Vector::new(), view: None }
    }

    /// Adds the steps of the block that was being built, and the view that readers had.
    pub fn with_view(self, steps: Vector<Recorded>, view: Option<Arc<View>>) -> Self {
        Self { steps, view, ..self }
    }
}
