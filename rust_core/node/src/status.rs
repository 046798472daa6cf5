//! What a node says of itself.

use std::time::Duration;

use alloy_primitives::{Address, B256};

use crate::{Phase, PoolStart, ScrubStatus, View};

/// The node at this moment, for `foreseal_status` and health checks. What the chain is at this moment is a [`Head`].
#[derive(Clone, Debug)]
pub struct Status {
    pub phase: Phase,
    /// Time since the last tick.
    pub age: Duration,
    pub pool_start: PoolStart,
    /// Whether ticks are expected.
    pub produces: bool,
    /// Whose signatures the steps carry that are made here; `None` if none are made.
    pub signer: Option<Address>,
    /// The damage of the store that this process found, or had reported to it. Then the phase is failed, and reads go on.
    pub damage: Option<String>,
    /// `None` while the node starts.
    pub store: Option<StoreStatus>,
    /// Whether there is a view.
    pub shown: bool,
    /// `None` on the process that writes the chain.
    pub following: Option<FollowingStatus>,
}

/// What a follower says of its sequencer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowingStatus {
    /// Appends that the sequencer has told of and that are not applied yet.
    pub lag: u64,
    /// How often it began with the store: once, and again whenever its cursor was gone.
    pub beginnings: u64,
    /// Where the sequencer was when it last said so.
    pub sequencer: Option<Phase>,
    /// Time since anything was heard of it.
    pub unheard: Duration,
}

/// How far a follower is that was not up to date when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchingUp {
    /// Number of the newest sealed block when it began.
    pub start: u64,
    pub current: u64,
    /// Of the newest block that the sequencer has told of.
    pub highest: u64,
}

/// The store at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreStatus {
    /// Number of its newest block.
    pub head: Option<u64>,
    /// What is sealed and not stored yet, in transactions; a block counts 500 more.
    pub backlog: usize,
    /// How much the builder takes of what it could, in thousandths: less than all when the store is far behind.
    pub share: u32,
    /// Bytes in use.
    pub bytes: u64,
    /// Why it cannot be written, or must not be built upon, if so.
    pub failure: Option<String>,
    pub scrub: ScrubStatus,
}

/// The newest step of a view.
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
    /// `Err` with a reason when the node should not be relied on: production failed, or its last tick is older
    /// than `limit`. A node that only serves has no ticks to be late.
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

    /// As [`Self::healthy`], of a follower: what it shows is as good as what it hears.
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

    /// As [`Self::healthy`], and the journal is replayed.
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
