//! Status of a node, for `foreseal_status` and health checks.

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Address, B256};
use foreseal_chain::View;
use parking_lot::Mutex;
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

/// Progress of the scrub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct ScrubStatus {
    /// Bytes read in the current pass; 0 between passes.
    pub bytes: u64,
    /// Bytes read in all passes.
    pub total: u64,
    /// Number of complete passes.
    pub passes: u64,
    /// Number of damaged pages found.
    pub damaged: u64,
    /// Number of pages without a checksum in the newest complete pass. An upgraded store has no such page.
    pub unchecked: u64,
    /// Number of portions that could not be read and were retried.
    pub errors: u64,
    /// Unix time in seconds of the end of the last complete pass.
    pub last: Option<u64>,
}

/// Shared progress of the scrub, for status and metrics.
pub(crate) type ScrubProgress = Arc<Mutex<ScrubStatus>>;

/// Status of the node process. The position of the chain is a [`Head`].
#[derive(Clone, Debug)]
pub struct Status {
    pub phase: Phase,
    /// Time since the last tick.
    pub age: Duration,
    pub pool_start: PoolStart,
    /// `true` if ticks are expected.
    pub produces: bool,
    /// Address that signs the steps made here; `None` if this process makes none.
    pub signer: Option<Address>,
    /// Damage of the store that this process found or that was reported to it. If set, the phase is `Failed`;
    /// reads are still served.
    pub damage: Option<String>,
    /// `None` while the node starts.
    pub store: Option<StoreStatus>,
    /// `true` if a view is published.
    pub shown: bool,
    /// `None` on the process that writes the chain.
    pub following: Option<FollowingStatus>,
}

/// Status of the connection from a follower to its sequencer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowingStatus {
    /// Number of appends that the sequencer has announced and that are not applied yet.
    pub lag: u64,
    /// Number of times the replica was loaded from the store: once at first, then again whenever its cursor
    /// became invalid.
    pub beginnings: u64,
    /// Phase of the sequencer in its newest status message.
    pub sequencer: Option<Phase>,
    /// Time since the last frame from the sequencer.
    pub unheard: Duration,
}

/// Progress of a follower that was not up to date when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchingUp {
    /// Number of the newest sealed block when it connected.
    pub start: u64,
    pub current: u64,
    /// Number of the newest block that the sequencer has announced.
    pub highest: u64,
}

/// Status of the store.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct StoreStatus {
    /// Number of its newest block.
    pub head: Option<u64>,
    /// Sealed but not stored work, in transactions; a block counts 500 more.
    pub backlog: usize,
    /// Builder throttle in thousandths: 1000 is unthrottled, lower values mean that the store is behind.
    pub share: u32,
    /// Bytes in use.
    pub bytes: u64,
    /// Reason why the store cannot be written, or must not be built upon; `None` otherwise.
    pub failure: Option<String>,
    pub scrub: ScrubStatus,
}

/// Position of the newest step of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the block being built.
    pub block: u64,
    /// Index of its newest step.
    pub index: u64,
    pub hash: B256,
    pub latest: u64,
    pub safe: u64,
    pub finalized: u64,
}

impl From<&View> for Head {
    fn from(view: &View) -> Self {
        Self {
            block: view.pending().number(),
            index: view.pending_index(),
            hash: view.pending().block.hash,
            latest: view.latest().number(),
            safe: view.safe(),
            finalized: view.finalized(),
        }
    }
}

impl Status {
    /// Checks that the node can be relied on. A node that only serves has no ticks, so it cannot be late.
    ///
    /// # Errors
    /// Returns the reason if production failed, the node is stopped, or the last tick is older than `limit`.
    pub fn healthy(&self, limit: Duration) -> Result<(), String> {
        match &self.phase {
            Phase::Failed(reason) => Err(format!("production stopped: {reason}")),
            Phase::Stopped => Err("the node is stopped".to_owned()),
            Phase::Producing if self.age > limit => {
                Err(format!("last tick {} ms ago, limit {} ms", self.age.as_millis(), limit.as_millis()))
            }
            Phase::Following | Phase::Disconnected(_) => self.followed(limit),
            Phase::Producing | Phase::Serving | Phase::Replaying { .. } => Ok(()),
        }
    }

    /// Performs the checks of [`Self::healthy`] that concern a follower: its data is as fresh as the frames
    /// that it receives.
    fn followed(&self, limit: Duration) -> Result<(), String> {
        let Some(following) = &self.following else { return Ok(()) };
        if let Some(Phase::Failed(reason)) = &following.sequencer {
            return Err(format!("production stopped: {reason}"));
        }
        let lost = match &self.phase {
            Phase::Disconnected(reason) => format!("; the sequencer is not reachable: {reason}"),
            _ => String::new(),
        };
        let (late, what) = if self.produces {
            (self.age, "last tick")
        } else {
            (following.unheard, "last word of the sequencer")
        };
        if late <= limit {
            return Ok(());
        }
        Err(format!("{what} {} ms ago, limit {} ms{lost}", late.as_millis(), limit.as_millis()))
    }

    /// Performs the checks of [`Self::healthy`] and checks that the journal is replayed.
    pub fn ready(&self, limit: Duration) -> Result<(), String> {
        if let Phase::Replaying { records } = self.phase {
            return Err(format!("replaying the journal: {records} records so far"));
        }
        if let (Phase::Disconnected(reason), false) = (&self.phase, self.shown) {
            return Err(format!("the sequencer is not reachable: {reason}"));
        }
        self.healthy(limit)
    }
}
