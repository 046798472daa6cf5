//! Phase of a node and origin of its pool, which the sequencer reports to its followers.

use serde::{Deserialize, Serialize};

/// Phase of a node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Phase {
    /// Replaying the journal; `records` counts the records replayed so far.
    Replaying { records: u64 },
    /// Producing blocks.
    Producing,
    /// Serving reads without producing blocks.
    Serving,
    /// Serving the views that the sequencer publishes.
    Following,
    /// The sequencer is unreachable for this reason; reads are still served.
    Disconnected(String),
    /// Production stopped for this reason; reads are still served.
    Failed(String),
    /// Stopped cleanly.
    Stopped,
}

impl Phase {
    /// Returns the name of the phase in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Replaying { .. } => "replaying",
            Self::Producing => "producing",
            Self::Serving => "serving",
            Self::Following => "following",
            Self::Disconnected(_) => "disconnected",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// Origin of the pool's content at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum PoolStart {
    /// The data directory is new.
    New,
    /// This number of transactions was restored from a clean stop.
    Restored(usize),
    /// The last run did not stop cleanly: transactions that were only in the pool are lost.
    LostInCrash,
}
