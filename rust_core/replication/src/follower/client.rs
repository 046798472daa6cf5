//! The thread that follows the sequencer, and the node's interface to it.

use std::{
    net::Shutdown, os::unix::net::UnixStream, path::PathBuf, sync::Arc, thread::JoinHandle, time::Duration,
};

use foreseal_pool::{CheckedTransaction, Pool};
use parking_lot::Mutex;

use super::{
    FollowerBackend, SubmissionHandle, outbox::Outbox, pending_requests::PendingRequests,
    replica::ReplicaConfig, sequencer_status::CatchingUp, sequencer_status::SequencerStatus,
};
use crate::{
    Phase, SubmitError,
    wire::{Request, SequencerReport, Welcome},
};

/// A follower: its thread, its connection, and the sequencer's last reported status.
pub struct FollowerClient {
    pub(super) config: ReplicaConfig,
    /// Socket of the sequencer.
    pub(super) socket: PathBuf,
    pub(super) name: String,
    pub(super) pool: Arc<Pool>,
    pub(super) backend: Arc<dyn FollowerBackend>,
    pub(super) sequencer: SequencerStatus,
    pub(super) outbox: Outbox,
    pub(super) pending_requests: PendingRequests,
    /// The connection, so that it can be shut down.
    pub(super) stream: Mutex<Option<UnixStream>>,
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
}

impl FollowerClient {
    /// Creates the follower `name` of the sequencer that serves `socket`. `pool` receives the content of the
    /// sequencer's pool.
    pub fn new(
        config: ReplicaConfig,
        socket: PathBuf,
        name: String,
        pool: Arc<Pool>,
        backend: Arc<dyn FollowerBackend>,
    ) -> Self {
        let outbox = Outbox::new(config.store.clone());
        Self {
            config,
            socket,
            name,
            pool,
            backend,
            sequencer: SequencerStatus::default(),
            outbox,
            pending_requests: PendingRequests::default(),
            stream: Mutex::default(),
            thread: Mutex::default(),
        }
    }

    /// Ends the thread, once [`FollowerBackend::is_stopping`] returns `true`. Blocks until that is done; a second
    /// call does nothing.
    pub fn stop(&self) {
        self.disconnect();
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

    pub(super) fn disconnect(&self) {
        if let Some(stream) = self.stream.lock().take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns the newest status report of the sequencer.
    pub fn sequencer_report(&self) -> Option<SequencerReport> {
        self.sequencer.report()
    }

    /// Returns the sequencer's greeting of the current or last connection.
    pub fn welcome(&self) -> Option<Arc<Welcome>> {
        self.sequencer.welcome()
    }

    /// Returns the number of appends that the sequencer has announced and that are not applied.
    pub fn lag(&self) -> u64 {
        self.sequencer.lag()
    }

    /// Returns the number of times that the replica was loaded from the store.
    pub fn replica_loads(&self) -> u64 {
        self.sequencer.replica_loads()
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
