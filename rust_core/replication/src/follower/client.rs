//! The thread that follows the sequencer, and the node's interface to it.

use std::{sync::Arc, thread::JoinHandle, time::Duration};

use alloy_primitives::{B256, Bytes};
use foreseal_journal::Identity;
use foreseal_pool::{CheckedTransaction, Pool};
use foreseal_store::Store;
use parking_lot::Mutex;

use super::{
    FollowerBackend, FollowerProfile, SubmissionHandle, Upstream,
    chain_copy::ChainCopy,
    outbox::{Outbox, SubmissionCallback},
    pending_requests::PendingRequests,
    sequencer_status::CatchingUp,
    sequencer_status::SequencerStatus,
    upstream::UpstreamConnection,
};
use crate::{
    phase::Phase,
    submit_error::SubmitError,
    transport::FeedAddress,
    wire::{FollowerRole, MAX_REMOTE_SILENCE, MAX_SILENCE, Request, SequencerReport, Welcome},
};

/// A follower: its thread, its connection, and the sequencer's last reported status.
pub struct FollowerClient {
    /// The chain, until the session that extends it begins.
    pub(super) chain: Mutex<Option<Box<dyn ChainCopy>>>,
    pub(super) identity: Identity,
    pub(super) upstream: UpstreamConnection,
    pub(super) profile: FollowerProfile,
    pub(super) pool: Arc<Pool>,
    pub(super) backend: Arc<dyn FollowerBackend>,
    pub(super) sequencer: SequencerStatus,
    pub(super) outbox: Outbox,
    pub(super) pending_requests: PendingRequests,
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
}

/// Configuration of a follower.
pub struct FollowerConfig {
    pub identity: Identity,
    pub upstream: Upstream,
    pub profile: FollowerProfile,
    /// Pool that receives the content of the sequencer's pool.
    pub pool: Arc<Pool>,
    pub backend: Arc<dyn FollowerBackend>,
    /// Store that the sequencer has open too: it is notified of damage that this process finds.
    pub shared_store: Option<Store>,
}

impl FollowerClient {
    /// Creates a follower that extends `chain`.
    pub fn new(config: FollowerConfig, chain: Box<dyn ChainCopy>) -> Self {
        let FollowerConfig { identity, upstream, profile, pool, backend, shared_store } = config;
        Self {
            chain: Mutex::new(Some(chain)),
            identity,
            upstream: UpstreamConnection::new(upstream),
            profile,
            pool,
            backend,
            sequencer: SequencerStatus::default(),
            outbox: Outbox::new(shared_store),
            pending_requests: PendingRequests::default(),
            thread: Mutex::default(),
        }
    }

    /// Ends the thread, once [`FollowerBackend::is_stopping`] returns `true`. Blocks until that is done; a second
    /// call does nothing.
    pub fn stop(&self) {
        self.upstream.disconnect();
        if let Some(thread) = self.thread.lock().take() {
            // The thread catches its own panics, so joining cannot fail.
            let _ = thread.join();
        }
    }

    /// Queues metrics for the sequencer. Replaces metrics that are not sent yet.
    pub fn report(&self, metrics: Vec<u8>) {
        self.outbox.report(metrics.into());
    }

    /// Sends a submission to the sequencer.
    pub fn send(
        &self,
        submission: &CheckedTransaction,
        runnable: bool,
    ) -> Result<SubmissionHandle, SubmitError> {
        self.outbox.submit(submission, runnable)
    }

    /// Passes on the encoded submission of a follower of this process. `callback` receives the response, after
    /// the effects on the pool, or the error.
    pub fn forward(&self, hash: B256, submission: Bytes, runnable: bool, callback: SubmissionCallback) {
        self.outbox.forward(hash, submission, runnable, callback);
    }

    /// Sends a request to the sequencer; returns `None` if there is no response within `timeout`.
    pub fn query(&self, query: Vec<u8>, timeout: Duration) -> Option<Vec<u8>> {
        let frame = |number| Request::Query { number, query: query.into() }.encode();
        self.pending_requests.query(timeout, |number| self.outbox.send_frame(frame(number))).map(Into::into)
    }

    /// Returns the number of answered submissions so far.
    pub fn answers(&self) -> u64 {
        self.outbox.answers()
    }

    /// Returns the reason for which the sequencer's production stopped, if it did.
    pub fn failure(&self) -> Option<String> {
        match self.sequencer.report()?.phase {
            Phase::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    /// Releases everything that waits for the connection after it ended.
    pub(super) fn close(&self) {
        self.outbox.close();
        self.pending_requests.close();
        self.backend.wake_waiters();
    }

    /// Replaces the addresses of the sequencer. A connection to an address that is not among them ends.
    pub fn set_addresses(&self, addresses: Vec<FeedAddress>) {
        self.upstream.set_addresses(addresses);
    }

    /// Returns the addresses of the sequencer, in the order in which they are tried.
    pub fn addresses(&self) -> Vec<FeedAddress> {
        self.upstream.addresses()
    }

    /// Returns the address to which the follower is connected.
    pub fn connected_address(&self) -> Option<FeedAddress> {
        self.upstream.connected()
    }

    /// Returns `true` if a replica could follow another address.
    pub(super) fn has_other_addresses(&self) -> bool {
        self.profile.role == FollowerRole::Replica && self.upstream.addresses().len() > 1
    }

    /// Returns the time without a frame after which the connection is given up.
    pub(super) fn max_silence(&self) -> Duration {
        match self.profile.role {
            // A worker has no other address.
            FollowerRole::Worker => MAX_SILENCE,
            FollowerRole::Replica | FollowerRole::Standby => MAX_REMOTE_SILENCE,
        }
    }

    /// Returns the newest status report of the sequencer.
    pub fn sequencer_report(&self) -> Option<SequencerReport> {
        self.sequencer.report()
    }

    /// Returns the number of the ownership in the newest report; 0 without a quorum journal.
    pub fn owner_epoch(&self) -> u64 {
        self.sequencer.owner_epoch()
    }

    /// Returns the sequencer's greeting of the current or last connection.
    pub fn welcome(&self) -> Option<Arc<Welcome>> {
        self.sequencer.welcome()
    }

    /// Returns the number of appends that the sequencer has announced and that are not applied.
    pub fn lag(&self) -> u64 {
        self.sequencer.lag()
    }

    /// Returns the number of times that the worker's chain was loaded from the store.
    pub fn chain_loads(&self) -> u64 {
        self.sequencer.chain_loads()
    }

    /// Returns the progress of catching up; `None` when it is up to date.
    pub fn catching_up(&self) -> Option<CatchingUp> {
        self.sequencer.catching_up()
    }

    /// Returns the sequencer's step interval; `None` before its greeting.
    pub fn step(&self) -> Option<Duration> {
        self.sequencer.welcome().map(|welcome| welcome.production.step)
    }
}
