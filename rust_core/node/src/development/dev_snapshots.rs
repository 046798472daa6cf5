//! Snapshots of a development chain.

use std::{collections::BTreeMap, time::Duration};

use alloy_primitives::B256;
use foreseal_chain::{Finality, Recorded};
use foreseal_pool::PoolSnapshot;
use foreseal_replication::Production;
use imbl::Vector;

/// Snapshots by number. Numbers are never reused.
#[derive(Default)]
pub(crate) struct DevSnapshots {
    pub next: u64,
    pub kept: BTreeMap<u64, DevSnapshot>,
}

/// A step of the chain, and the state outside the chain at that moment.
pub(crate) struct DevSnapshot {
    pub latest: (u64, B256),
    /// Steps of the block being built.
    pub steps: Vector<Recorded>,
    pub finality: Finality,
    /// Time by the chain's clock.
    pub time: Duration,
    pub pool: PoolSnapshot,
    pub fixed: Option<u64>,
    /// Settings of production, and the interval of timestamps.
    pub later_blocks: (Production, Option<u64>),
}

impl DevSnapshots {
    /// Removes and returns the snapshot with this number and all later ones; empty if the number does not
    /// exist.
    pub fn remove_from(&mut self, number: u64) -> BTreeMap<u64, DevSnapshot> {
        if self.kept.contains_key(&number) { self.kept.split_off(&number) } else { BTreeMap::new() }
    }
}
