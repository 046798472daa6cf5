//! Signs of life of the thread that writes or follows the chain, for a supervisor that replaces a stalled
//! process.

use std::time::Duration;

use foreseal_replication::{Phase, wire::MAX_SILENCE};

use crate::process::node::{Node, NodeRole};

/// Maximum time between two blocks of a driver, for the limit of its silence: a slot of Ethereum. Blocks may be further
/// apart, such as the first one from a genesis of the past.
const MAX_BLOCK_INTERVAL: Duration = Duration::from_secs(12);

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
        let (phase, shared) = (self.shared.health.phase(), &self.shared);
        let (count, interval) = match (&self.part, &phase) {
            (_, Phase::Replaying { records }) => (i64::try_from(*records).unwrap_or(i64::MAX), None),
            (NodeRole::Writer(writing), Phase::Producing) => {
                // A leader whose quorum is lost waits, and is not stalled.
                let waits = writing.monitor.get().map_or(0, |monitor| monitor.unanswered_rounds());
                let count =
                    shared.publication.ticked().saturating_add(i64::try_from(waits).unwrap_or(i64::MAX));
                // A driver may be silent for any time.
                (count, Some(self.settings().production.step).filter(|_| !self.settings().driver))
            }
            // A connection that stays silent for longer is closed, unless the thread that reads it is
            // stalled.
            (_, Phase::Following) => (shared.publication.last_frame(), Some(MAX_SILENCE)),
            (NodeRole::Writer(_) | NodeRole::Worker(_), _) => (0, None),
        };
        let (on_disk, thread) = (shared.activity.is_on_disk(), shared.activity.thread());
        Liveness { phase, count, interval, on_disk, thread }
    }

    /// Returns the age of the last tick beyond which the node is unhealthy: five steps or five seconds,
    /// whichever is longer; under a driver, three blocks.
    pub fn tick_limit(&self) -> Duration {
        if self.settings().driver {
            return self.block_interval() * 3;
        }
        if let Some(limit) =
            self.shared.leadership.max_unconfirmed().filter(|_| self.shared.leadership.leads())
        {
            return limit;
        }
        if let (NodeRole::Writer(_), Some(_)) = (&self.part, self.following()) {
            return self.settings().cluster.max_age;
        }
        let step = self.following().and_then(|following| following.step());
        (step.unwrap_or(self.settings().production.step) * 5).max(Duration::from_secs(5))
    }

    /// Returns the time between the newest two blocks, at most `MAX_BLOCK_INTERVAL`.
    pub fn block_interval(&self) -> Duration {
        let newest = self.view().and_then(|view| {
            let latest = view.latest().clone();
            let parent = view.sealed(latest.number().checked_sub(1)?).ok()??;
            let seconds = latest.block.header.timestamp.checked_sub(parent.block.header.timestamp)?;
            Some(Duration::from_secs(seconds).min(MAX_BLOCK_INTERVAL))
        });
        let block_time = Duration::from_secs(self.settings().production.block_time);
        newest.unwrap_or(block_time).max(Duration::from_secs(1))
    }
}
