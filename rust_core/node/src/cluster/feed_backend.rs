//! The node as the sequencer behind a feed server.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use alloy_primitives::{Address, Bytes};
use foreseal_primitives::ChainSpec;
use foreseal_replication::{
    ConnectionOrigin, FollowerClient, Phase, SequencerBackend, SubmissionCallback,
    wire::{SequencerReport, Welcome},
};
use foreseal_store::DamageReport;

use crate::{
    cluster::{
        cluster_monitor::{ClusterMonitor, newest_epoch},
        forwarding::{decode_forwarded, pass_on},
    },
    shared::shared_state::SharedState,
    store::contradiction,
};

/// Access of a feed server to the node.
pub(crate) struct FeedBackend {
    pub shared: Arc<SharedState>,
    pub datadir: PathBuf,
    /// Rules by which submissions of other machines are checked.
    pub spec: Arc<ChainSpec>,
    pub signer: Option<Address>,
    /// Settings of block production of this process.
    pub welcome: Welcome,
    /// Status of a member of a cluster.
    pub monitor: Arc<OnceLock<Arc<ClusterMonitor>>>,
    /// Client that follows another machine, if this process ever does.
    pub upstream: Arc<OnceLock<Arc<FollowerClient>>>,
}

impl FeedBackend {
    /// Returns the client that follows another machine; `None` while this process writes the chain.
    fn following(&self) -> Option<&Arc<FollowerClient>> {
        self.upstream.get().filter(|_| !self.shared.leadership.leads())
    }
}

impl SequencerBackend for FeedBackend {
    fn phase(&self) -> Phase {
        let own = self.shared.health.phase();
        match (&own, self.following()) {
            // The node that this process follows may have failed.
            (Phase::Following, Some(client)) => client.sequencer_report().map_or(own, |report| report.phase),
            _ => own,
        }
    }

    fn report(&self) -> SequencerReport {
        let Self { shared, signer, .. } = self;
        if let Some(report) = self.following().and_then(|client| client.sequencer_report()) {
            // A replica shows what its own sequencer reports, except for its own store.
            let owner = match self.monitor.get() {
                Some(monitor) => monitor.newest_owner(report.owner),
                None => report.owner,
            };
            return SequencerReport {
                phase: self.phase(),
                store: shared.health.store_status(),
                owner,
                ..report
            };
        }
        SequencerReport {
            phase: self.phase(),
            pool_start: shared.health.pool_start(),
            signer: *signer,
            store: shared.health.store_status(),
            owner: self.monitor.get().and_then(|monitor| monitor.owner()),
        }
    }

    fn owner_epoch(&self) -> Option<u64> {
        Some(newest_epoch(self.monitor.get(), self.following())).filter(|epoch| *epoch > 0)
    }

    fn age(&self) -> Duration {
        self.shared.publication.age()
    }

    fn latest(&self) -> u64 {
        self.shared.publication.view().map_or(0, |view| view.latest().number())
    }

    fn admit(&self, submission: Bytes, runnable: bool, origin: ConnectionOrigin, reply: SubmissionCallback) {
        let checked = match origin {
            ConnectionOrigin::Local => decode_forwarded(&submission),
            ConnectionOrigin::Network => self.shared.check_foreign(&submission, &self.spec),
        };
        match (checked, self.following()) {
            (Err(error), _) => reply(Err(error)),
            (Ok(checked), Some(client)) => pass_on(client, &checked, runnable, reply),
            (Ok(checked), None) => reply(self.shared.admit_forwarded(checked, runnable)),
        }
    }

    fn welcome(&self) -> Welcome {
        match self.following().and_then(|client| client.welcome()) {
            Some(welcome) => Welcome::clone(&welcome),
            None => self.welcome.clone(),
        }
    }

    fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        let now = self.shared.clock.now().monotonic;
        self.shared.query_handler.answer(query, &self.shared.pool, now)
    }

    fn confirm_damage(&self, report: &DamageReport, follower: &str) {
        self.shared.health.confirm_damage(report, follower);
    }

    fn end_for_lost_append(&self, sequence: u64, reason: String) {
        if self.upstream.get().is_some() {
            // The follower may have been at a node that is ahead of this one.
            return tracing::info!(sequence, "a follower has an append that this node does not have yet");
        }
        tracing::error!(reason, "production stopped");
        // Recorded for `foreseal journal repair`, which no follower can notify.
        if let Err(error) = contradiction::record(&self.datadir, sequence) {
            tracing::error!(%error, sequence, "failed to record the append that the journal has lost");
        }
        self.shared.health.set_phase(Phase::Failed(reason));
    }
}
