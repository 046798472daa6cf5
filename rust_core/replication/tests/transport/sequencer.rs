//! A sequencer that only serves its feed.

use std::{path::Path, sync::Arc, time::Duration};

use alloy_primitives::{B256, Bytes};
use foreseal_chain::{FinalityDepth, SystemClock};
use foreseal_journal::{Identity, JournalReader, RealDisk};
use foreseal_pool::{Pool, PoolConfig};
use foreseal_replication::{
    ConnectionOrigin, FeedConfig, FeedSource, FrameLog, Pace, Phase, PoolStart, Production, RingLimits,
    SequencerBackend, SubmissionCallback, SubmitError,
    wire::{SequencerReport, Welcome},
};
use foreseal_store::DamageReport;
use parking_lot::Mutex;

pub const IDENTITY: Identity = Identity { chain_id: 1, genesis: B256::ZERO };

/// Holds the submissions of one byte back, and rejects the others.
#[derive(Default)]
struct Idle {
    held: Mutex<Vec<SubmissionCallback>>,
}

impl SequencerBackend for Idle {
    fn phase(&self) -> Phase {
        Phase::Serving
    }

    fn report(&self) -> SequencerReport {
        SequencerReport {
            phase: Phase::Serving,
            pool_start: PoolStart::New,
            signer: None,
            store: None,
            owner: None,
        }
    }

    fn age(&self) -> Duration {
        Duration::ZERO
    }

    fn latest(&self) -> u64 {
        0
    }

    fn admit(&self, submission: Bytes, _: bool, _: ConnectionOrigin, reply: SubmissionCallback) {
        if submission.len() == 1 {
            return self.held.lock().push(reply);
        }
        for held in self.held.lock().drain(..) {
            held(Err(SubmitError::Away));
        }
        reply(Err(SubmitError::Starting));
    }

    fn welcome(&self) -> Welcome {
        let (production, depth) = (Production::default(), FinalityDepth::default());
        Welcome { produces: true, production, depth }
    }

    /// Sends the query back.
    fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        Some(query.to_vec())
    }

    fn confirm_damage(&self, _: &DamageReport, _: &str) {}

    fn end_for_lost_append(&self, _: u64, _: String) {}
}

/// Returns the feed of an empty chain, with its log of frames.
pub fn source(folder: &Path) -> (Arc<FeedSource>, Arc<FrameLog>) {
    let log = Arc::new(FrameLog::new(0, RingLimits::default()));
    let source = FeedSource::new(FeedConfig {
        identity: IDENTITY,
        journal_reader: JournalReader::new(folder.to_owned(), Arc::new(RealDisk), IDENTITY, 0),
        discarded: 0..0,
        log: log.clone(),
        pool: Arc::new(Pool::new(PoolConfig::default())),
        clock: Arc::new(SystemClock::default()),
        backend: Arc::new(Idle::default()),
        pace: Pace::default(),
        copies: None,
        max_copies: FeedConfig::MAX_COPIES,
    });
    (Arc::new(source), log)
}
