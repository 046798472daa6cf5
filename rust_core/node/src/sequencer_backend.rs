//! The node as the sequencer behind a feed server.

use std::{path::PathBuf, sync::Arc, time::Duration};

use alloy_primitives::Address;
use foreseal_pool::Admission;
use foreseal_replication::{Phase, SequencerBackend, SubmitError, wire::SequencerReport};
use foreseal_store::DamageReport;

use crate::{contradiction, shared_state::SharedState};

/// Access of a feed server to the node.
pub(crate) struct FeedBackend {
    pub shared: Arc<SharedState>,
    pub datadir: PathBuf,
    pub signer: Option<Address>,
}

impl SequencerBackend for FeedBackend {
    fn phase(&self) -> Phase {
        self.shared.phase()
    }

    fn report(&self) -> SequencerReport {
        let Self { shared, signer, .. } = self;
        SequencerReport {
            phase: shared.phase(),
            pool_start: shared.pool_start(),
            signer: *signer,
            store: shared.store_status(),
        }
    }

    fn age(&self) -> Duration {
        self.shared.age()
    }

    fn latest(&self) -> u64 {
        self.shared.view().map_or(0, |view| view.latest().number())
    }

    fn admit(&self, submission: &[u8], runnable: bool) -> Result<Admission, SubmitError> {
        self.shared.admit_forwarded(submission, runnable)
    }

    fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        let now = self.shared.clock.now().monotonic;
        self.shared.query_handler.answer(query, &self.shared.pool, now)
    }

    fn confirm_damage(&self, report: &DamageReport, follower: &str) {
        self.shared.confirm_damage(report, follower);
    }

    fn end_for_lost_append(&self, sequence: u64, reason: String) {
        tracing::error!(reason, "production stopped");
        // Recorded for `foreseal journal repair`, which no follower can notify.
        if let Err(error) = contradiction::record(&self.datadir, sequence) {
            tracing::error!(%error, sequence, "failed to record the append that the journal has lost");
        }
        self.shared.set_phase(Phase::Failed(reason));
    }
}
