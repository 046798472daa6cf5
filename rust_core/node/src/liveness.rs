//! Signs of life of the thread that writes or follows the chain, for a supervisor that replaces a stalled
//! process.

use std::time::Duration;

use foreseal_replication::{Phase, wire::MAX_SILENCE};

use crate::{Node, node::NodeRole};

/// Progress of the writing thread at one moment. Compare two readings to detect a stalled thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    pub phase: Phase,
    /// Counter that changes with each tick, with each unanswered request to a quorum and with each replayed record;
    /// on a follower, with each frame from the sequencer.
    pub count: i64,
    /// Longest normal time between two changes of `count`; `None` if no change is expected.
    pub interval: Option<Duration>,
    /// `true` while a write to the disk or a wait for the store is in progress.
    pub on_disk: bool,
    /// Kernel id of the thread that currently works on the chain.
    pub thread: Option<u32>,
}

impl Node {
    /// Returns the progress of the writing thread. Takes no lock that this thread holds while it works.
    pub fn liveness(&self) -> Liveness {
        let (phase, shared) = (self.shared.phase(), &self.shared);
        let (count, interval) = match (&self.part, &phase) {
            (_, Phase::Replaying { records }) => (i64::try_from(*records).unwrap_or(i64::MAX), None),
            (NodeRole::Writer(writing), Phase::Producing) => {
                // A leader whose quorum is lost waits, and is not stalled.
                let waits = writing.monitor.get().map_or(0, |monitor| monitor.unanswered_rounds());
                let count = shared.ticked().saturating_add(i64::try_from(waits).unwrap_or(i64::MAX));
                // A driver may be silent for any time.
                (count, Some(self.settings().production.step).filter(|_| !self.settings().driver))
            }
            // A connection that stays silent for longer is closed, unless the thread that reads it is
            // stalled.
            (_, Phase::Following) => (shared.heard_at(), Some(MAX_SILENCE)),
            (NodeRole::Writer(_) | NodeRole::Follower(_), _) => (0, None),
        };
        let (on_disk, thread) = (shared.activity.is_on_disk(), shared.activity.thread());
        Liveness { phase, count, interval, on_disk, thread }
    }
}
