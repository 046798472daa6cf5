//! Health of the node: the phase of production, and the state of the store.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use foreseal_replication::{Phase, PoolStart, ScrubStatus, StoreStatus};
use foreseal_store::{DamageReport, Store};
use parking_lot::Mutex;

use crate::{shared::publication::Publication, store::store_writer::StoreGauge};

/// Shared progress of the scrub, for status and metrics.
pub(crate) type ScrubProgress = Arc<Mutex<ScrubStatus>>;

/// Phase of the process, and damage and progress of its store.
pub(crate) struct Health {
    publication: Arc<Publication>,
    phase: Mutex<(Phase, PoolStart)>,
    gauge: OnceLock<StoreGauge>,
    /// Store that this process reads.
    store: OnceLock<Store>,
    scrub: ScrubProgress,
    /// `true` while this process scrubs its store.
    scrubs: AtomicBool,
}

impl Health {
    /// Returns the health of a node that begins to replay. Changes notify the readers of `publication`.
    pub fn new(publication: Arc<Publication>) -> Self {
        Self {
            publication,
            phase: Mutex::new((Phase::Replaying { records: 0 }, PoolStart::New)),
            gauge: OnceLock::new(),
            store: OnceLock::new(),
            scrub: ScrubProgress::default(),
            scrubs: AtomicBool::new(false),
        }
    }

    pub fn phase(&self) -> Phase {
        let phase = self.phase.lock().0.clone();
        match (&phase, self.damage()) {
            (Phase::Stopped | Phase::Failed(_), _) | (_, None) => phase,
            (_, Some(damage)) => Phase::Failed(damage),
        }
    }

    /// Returns the reason why production stopped, if it did.
    pub fn failure(&self) -> Option<String> {
        match self.phase() {
            Phase::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        let failed = matches!(phase, Phase::Failed(_));
        self.phase.lock().0 = phase;
        if failed {
            self.publication.changes.notify();
        }
        self.publication.wake_followers();
    }

    /// Continues production that failed for `reason` alone. Returns `false` after another failure.
    pub fn resume(&self, reason: &str) -> bool {
        let mut phase = self.phase.lock();
        let failed_for_it = matches!(&phase.0, Phase::Failed(failed) if failed == reason);
        if failed_for_it {
            phase.0 = Phase::Producing;
        }
        drop(phase);
        self.publication.wake_followers();
        failed_for_it
    }

    /// Sets the phase as the following thread sees it, unless `leads`: a process that writes the chain has the phase
    /// of its writer. A failure stays. `leads` is called under the lock of the phase.
    pub fn set_following_phase(&self, phase: Phase, leads: impl FnOnce() -> bool) {
        let mut own = self.phase.lock();
        if matches!(own.0, Phase::Failed(_)) || leads() {
            return;
        }
        own.0 = phase;
        drop(own);
        self.publication.changes.notify();
        self.publication.wake_followers();
    }

    pub fn pool_start(&self) -> PoolStart {
        self.phase.lock().1
    }

    pub fn set_pool_start(&self, start: PoolStart) {
        self.phase.lock().1 = start;
    }

    /// Sets the store that this process reads. Damage to it ends production.
    pub fn set_store(&self, store: Store) {
        self.store.get_or_init(|| store);
    }

    /// Sets the gauge from which the store's progress is read.
    pub fn set_gauge(&self, gauge: StoreGauge) {
        self.gauge.get_or_init(|| gauge);
    }

    /// Returns the bytes that wait for the store.
    pub fn queued_bytes(&self) -> usize {
        self.gauge.get().map_or(0, StoreGauge::queued_bytes)
    }

    pub fn store_status(&self) -> Option<StoreStatus> {
        let scrub = self.scrub.lock().clone();
        self.gauge.get().map(|gauge| StoreStatus { scrub, ..gauge.status() })
    }

    /// Returns the store status of a follower, based on the status that the sequencer reported. The scrub of
    /// this process, if it runs one, and damage that this process found take precedence.
    pub fn followed_store(&self, sequencer: Option<StoreStatus>) -> Option<StoreStatus> {
        let damage = self.damage();
        let scrubs = self.scrubs.load(Ordering::Acquire);
        if !scrubs && damage.is_none() {
            return sequencer;
        }
        let store = self.store.get()?;
        let mut status = sequencer.unwrap_or_else(|| StoreStatus {
            head: store.head().ok().flatten().map(|head| head.number),
            backlog: 0,
            share: 1_000,
            bytes: store.size().used,
            failure: None,
            scrub: ScrubStatus::default(),
        });
        if scrubs {
            status.scrub = self.scrub.lock().clone();
        }
        status.failure = damage.or(status.failure);
        Some(status)
    }

    /// Returns the progress that the scrub updates.
    pub fn scrub_progress(&self) -> &ScrubProgress {
        &self.scrub
    }

    /// Records whether this process scrubs its store or leaves that to another process.
    pub fn set_scrubs(&self, scrubs: bool) {
        self.scrubs.store(scrubs, Ordering::Release);
    }

    /// Returns the damage of the store that a read, a write or the scrub found.
    pub fn damage(&self) -> Option<String> {
        self.store.get().and_then(|store| store.damage().map(ToString::to_string))
    }

    /// Handles a damage report from another process that has the store open. Production stops unless the page
    /// proves to be sound.
    pub fn confirm_damage(&self, report: &DamageReport, reporter: &str) {
        let Some(store) = self.store.get() else { return };
        let DamageReport { reason, .. } = report;
        if store.confirm_damage(report) {
            tracing::error!(reason, reporter, "production stopped: another process found damage");
            self.publication.changes.notify();
            self.publication.wake_followers();
        } else {
            tracing::warn!(reason, reporter, "the page reported as damaged is intact");
        }
    }
}
