//! The status of the sequencer as a follower has received it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;

use crate::wire::{Heartbeat, SequencerReport, Welcome};

/// Progress of a follower that was not up to date when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchingUp {
    /// Number of the newest sealed block when it connected.
    pub start: u64,
    pub current: u64,
    /// Number of the newest block that the sequencer has announced.
    pub highest: u64,
}

/// Last received values, for the status.
#[derive(Debug, Default)]
pub(super) struct SequencerStatus {
    /// Greeting of the current or last connection.
    welcome: Mutex<Option<Arc<Welcome>>>,
    report: Mutex<Option<SequencerReport>>,
    /// Number of the ownership in the report; 0 without a quorum journal.
    owner_epoch: AtomicU64,
    /// Sequence numbers of the append that the sequencer publishes next, and of the one that is applied next.
    announced: AtomicU64,
    applied: AtomicU64,
    /// Number of the newest sealed block that the sequencer shows.
    latest: AtomicU64,
    /// Number of times that the worker's chain started from the store.
    chain_loads: AtomicU64,
    /// Newest sealed block at the beginning of the connection and now, until the follower is up to date.
    catching_up: Mutex<Option<(u64, u64)>>,
}

impl SequencerStatus {
    pub fn welcome(&self) -> Option<Arc<Welcome>> {
        self.welcome.lock().clone()
    }

    pub fn set_welcome(&self, welcome: Arc<Welcome>) {
        *self.welcome.lock() = Some(welcome);
    }

    pub fn report(&self) -> Option<SequencerReport> {
        self.report.lock().clone()
    }

    /// Returns the number of the ownership in the newest report; 0 without a quorum journal.
    pub fn owner_epoch(&self) -> u64 {
        self.owner_epoch.load(Ordering::Acquire)
    }

    pub fn set_report(&self, report: SequencerReport) {
        let epoch = report.owner.as_ref().map_or(0, |owner| owner.epoch);
        self.owner_epoch.store(epoch, Ordering::Release);
        *self.report.lock() = Some(report);
    }

    pub fn record_heartbeat(&self, heartbeat: &Heartbeat) {
        self.announced.store(heartbeat.next, Ordering::Release);
        self.latest.store(heartbeat.latest, Ordering::Release);
    }

    pub fn begun(&self) {
        self.chain_loads.fetch_add(1, Ordering::AcqRel);
    }

    pub fn chain_loads(&self) -> u64 {
        self.chain_loads.load(Ordering::Acquire)
    }

    pub fn set_catching_up(&self, from_to: Option<(u64, u64)>) {
        *self.catching_up.lock() = from_to;
    }

    /// Returns the progress of catching up; `None` once it is up to date.
    pub fn catching_up(&self) -> Option<CatchingUp> {
        let (start, current) = (*self.catching_up.lock())?;
        let highest = self.latest.load(Ordering::Acquire).max(current);
        (self.lag() > 0).then_some(CatchingUp { start, current, highest })
    }

    /// Records that all appends before `next` are applied.
    pub fn applied(&self, next: u64) {
        self.applied.store(next, Ordering::Release);
        self.announced.fetch_max(next, Ordering::AcqRel);
    }

    /// Returns the sequence number of the append that is applied next.
    pub fn next(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Returns the number of appends that the sequencer has announced and that are not applied.
    pub fn lag(&self) -> u64 {
        self.announced.load(Ordering::Acquire).saturating_sub(self.next())
    }
}
