//! Status of a member of a cluster.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use foreseal_quorum::{Owner, QuorumFinding, QuorumHead, QuorumHealth};
use foreseal_replication::{FollowerClient, wire::OwnerReport};
use parking_lot::Mutex;

/// Role of a process in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterRole {
    /// Writes the chain.
    Leader,
    /// Takes over if the leader fails.
    Standby,
    /// Only follows.
    Replica,
    /// Serves requests for one of the others, on its machine.
    Worker,
}

impl ClusterRole {
    /// Returns the name of the role in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Standby => "standby",
            Self::Replica => "replica",
            Self::Worker => "worker",
        }
    }
}

/// A change of the leader to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeoverRecord {
    /// Code of the reason.
    pub reason: &'static str,
    pub epoch: u64,
    /// Unix time in milliseconds.
    pub at: u64,
    /// Milliseconds from the decision until this process was the owner.
    pub fence_ms: u64,
    /// Milliseconds from the decision until this process could produce.
    pub ready_ms: u64,
}

/// Status of a process in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStatus {
    pub role: ClusterRole,
    pub name: String,
    /// The process that writes the chain; `None` before one was seen.
    pub owner: Option<OwnerReport>,
    /// Newest append in the quorum store, as last read.
    pub head: Option<QuorumHead>,
    /// `None` if this process does not use the quorum store.
    pub quorum: Option<QuorumStatus>,
    pub last_takeover: Option<TakeoverRecord>,
    /// Milliseconds by which the clock of this standby is ahead of those of most members; `None` if it agrees, or if
    /// theirs are unknown.
    pub clock_difference: Option<i64>,
}

/// Status of the quorum store as a leader or a standby sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumStatus {
    /// `true` if the quorum store answered recently enough for this process to rely on it.
    pub is_answering: bool,
    /// Time since the quorum store last answered.
    pub silence: Duration,
    /// Newest error of the quorum store or of a takeover.
    pub last_error: Option<String>,
    /// Bytes of retained records, on the leader.
    pub retained_bytes: u64,
    /// Faults of the quorum store's members.
    pub findings: Vec<QuorumFinding>,
}

/// Shared state of a member, for the status.
#[derive(Debug, Default)]
pub(crate) struct ClusterMonitor {
    name: String,
    state: Mutex<MonitorState>,
    health: Arc<Mutex<QuorumHealth>>,
    /// Number of the ownership in the state, for readers without a lock.
    epoch: AtomicU64,
}

#[derive(Debug, Default)]
struct MonitorState {
    owner: Option<Owner>,
    head: Option<QuorumHead>,
    last_error: Option<String>,
    last_takeover: Option<TakeoverRecord>,
    quorum_findings: Vec<QuorumFinding>,
    clock_difference: Option<i64>,
    /// Monotonic time of the last answer of the quorum store.
    answered: Duration,
}

/// Returns the number of the newest ownership that the quorum store or the followed process has reported; 0 without a
/// quorum journal.
pub(crate) fn newest_epoch(
    monitor: Option<&Arc<ClusterMonitor>>,
    followed: Option<&Arc<FollowerClient>>,
) -> u64 {
    let observed = monitor.map_or(0, |monitor| monitor.epoch());
    observed.max(followed.map_or(0, |client| client.owner_epoch()))
}

impl ClusterMonitor {
    pub fn new(name: String, health: Arc<Mutex<QuorumHealth>>) -> Self {
        Self { name, state: Mutex::default(), health, epoch: AtomicU64::new(0) }
    }

    /// Records an answered read of owner and head.
    pub fn observed(&self, owner: Option<Owner>, head: Option<QuorumHead>, now: Duration) {
        let mut state = self.state.lock();
        self.set_epoch(owner.as_ref());
        (state.owner, state.head, state.answered) = (owner, head, now);
    }

    /// Records an error; `None` clears it.
    pub fn set_error(&self, error: Option<String>) {
        self.state.lock().last_error = error;
    }

    /// Records the difference of the clock, and logs a new one.
    pub fn set_clock_difference(&self, ahead_ms: Option<i64>) {
        let before = std::mem::replace(&mut self.state.lock().clock_difference, ahead_ms);
        match (before, ahead_ms) {
            (None, Some(ahead_ms)) => {
                tracing::warn!(ahead_ms, "the clock differs from most members: this one does not take over");
            }
            (Some(_), None) => tracing::info!("the clock no longer differs from most members"),
            (None, None) | (Some(_), Some(_)) => {}
        }
    }

    /// Records the faults of the quorum store's members.
    pub fn set_findings(&self, findings: Vec<QuorumFinding>) {
        self.state.lock().quorum_findings = findings;
    }

    /// Records that this process is the owner, before it shows anything as such.
    pub fn acquired(&self, owner: Owner) {
        let mut state = self.state.lock();
        self.set_epoch(Some(&owner));
        state.owner = Some(owner);
    }

    fn set_epoch(&self, owner: Option<&Owner>) {
        self.epoch.store(owner.map_or(0, |owner| owner.epoch), Ordering::Release);
    }

    /// Returns the number of the current ownership; 0 before one was seen.
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Records that this process writes the chain.
    pub fn took_over(&self, record: TakeoverRecord) {
        let mut state = self.state.lock();
        (state.last_takeover, state.last_error) = (Some(record), None);
    }

    /// Returns the number of rounds over the endpoints in which no write of this process was answered.
    pub fn unanswered_rounds(&self) -> u64 {
        self.health.lock().unanswered_rounds
    }

    /// Returns number and name of the current ownership.
    pub fn owner(&self) -> Option<OwnerReport> {
        let state = self.state.lock();
        state.owner.as_ref().map(|owner| OwnerReport { epoch: owner.epoch, name: owner.name.clone() })
    }

    /// Returns the newer of the owner in the quorum store and the one that the feed has reported.
    pub fn newest_owner(&self, reported: Option<OwnerReport>) -> Option<OwnerReport> {
        self.owner().into_iter().chain(reported).max_by_key(|owner| owner.epoch)
    }

    /// Returns the time since the quorum store last answered.
    pub fn quorum_silence(&self, leads: bool, now: Duration) -> Duration {
        let since =
            if leads { self.health.lock().unanswered_since } else { Some(self.state.lock().answered) };
        since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// Returns the status. Without an answer for `limit`, the quorum store is not relied on.
    pub fn status(&self, leads: bool, now: Duration, limit: Duration) -> ClusterStatus {
        let silence = self.quorum_silence(leads, now);
        let health = self.health.lock().clone();
        let owner = self.owner();
        let state = self.state.lock();
        let quorum = QuorumStatus {
            is_answering: silence < limit,
            silence,
            last_error: if leads { health.last_error } else { state.last_error.clone() },
            retained_bytes: if leads { health.retained_bytes } else { 0 },
            findings: state.quorum_findings.clone(),
        };
        ClusterStatus {
            role: if leads { ClusterRole::Leader } else { ClusterRole::Standby },
            name: self.name.clone(),
            owner,
            head: state.head,
            quorum: Some(quorum),
            last_takeover: state.last_takeover.clone(),
            clock_difference: state.clock_difference.filter(|_| !leads),
        }
    }
}
