//! The connected followers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::Bytes;
use parking_lot::Mutex;

use super::ConnectionOrigin;
use crate::wire::{FollowerRole, Hello};

/// Status of a follower, as seen by the sequencer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowerStatus {
    pub name: String,
    pub role: FollowerRole,
    /// Random number of its run; zeros for a worker.
    pub run_id: [u8; 16],
    /// Version of its program.
    pub version: String,
    /// Address of its RPC server; empty if it has none.
    pub rpc: String,
    /// Number of appends that it has not applied yet.
    pub lag: u64,
    /// Time since it connected.
    pub connected: Duration,
    /// The metrics that it sent last; empty before the first.
    pub report: Bytes,
}

/// A connected follower.
#[derive(Debug)]
pub(super) struct Peer {
    pub origin: ConnectionOrigin,
    /// Its greeting.
    pub hello: Hello,
    /// Monotonic time of its greeting.
    pub since: Duration,
    /// Sequence number of the append that it applies next.
    pub next: AtomicU64,
    pub report: Mutex<Bytes>,
}

impl Peer {
    /// Returns its name in metrics.
    pub fn name(&self) -> &str {
        &self.hello.name
    }
}

/// Connected followers, in the order of their connection.
#[derive(Debug, Default)]
pub(super) struct Peers(Mutex<Vec<Arc<Peer>>>);

impl Peers {
    pub fn add(&self, peer: Arc<Peer>) {
        self.0.lock().push(peer);
    }

    pub fn remove(&self, peer: &Arc<Peer>) {
        self.0.lock().retain(|one| !Arc::ptr_eq(one, peer));
    }

    /// Returns the status of each follower; `next` is the sequence number of the next append.
    pub fn status(&self, next: u64, now: Duration) -> Vec<FollowerStatus> {
        let status = |peer: &Arc<Peer>| FollowerStatus {
            name: peer.hello.name.clone(),
            role: peer.hello.role,
            run_id: peer.hello.run_id,
            version: peer.hello.version.clone(),
            rpc: peer.hello.rpc.clone(),
            lag: next.saturating_sub(peer.next.load(Ordering::Acquire)),
            connected: now.saturating_sub(peer.since),
            report: peer.report.lock().clone(),
        };
        self.0.lock().iter().map(status).collect()
    }
}
