//! The thread that follows the sequencer, and the node's interface to it.

use std::{
    net::Shutdown, os::unix::net::UnixStream, path::PathBuf, sync::Arc, thread::JoinHandle, time::Duration,
};

use foreseal_pool::Submission;
use parking_lot::Mutex;

use super::{
    outbox::Outbox, pending_requests::PendingRequests, replica::ReplicaConfig,
    sequencer_status::SequencerStatus,
};
use crate::{
    CatchingUp, Phase, PoolStart, SubmissionHandle, SubmitError,
    shared::Shared,
    status::{FollowingStatus, Status},
    wire::Request,
};

/// A follower: its thread, its connection, and the sequencer's last reported status.
pub(crate) struct Following {
    pub(super) ground: ReplicaConfig,
    /// Socket of the sequencer.
    pub(super) socket: PathBuf,
    pub(super) name: String,
    pub(super) shared: Arc<Shared>,
    pub(super) known: SequencerStatus,
    pub(super) outbox: Outbox,
    pub(super) questions: PendingRequests,
    /// The connection, so that it can be shut down.
    pub(super) stream: Mutex<Option<UnixStream>>,
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
}

impl Following {
    pub fn new(ground: ReplicaConfig, socket: PathBuf, name: String, shared: Arc<Shared>) -> Self {
        let outbox = Outbox::new(ground.store.clone());
        Self {
            ground,
            socket,
            name,
            shared,
            known: SequencerStatus::default(),
            outbox,
            questions: PendingRequests::default(),
            stream: Mutex::default(),
            thread: Mutex::default(),
        }
    }

    /// Ends the thread. Blocks until that is done; a second call does nothing.
    pub fn stop(&self) {
        self.shared.stop();
        self.hang_up();
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
    pub fn send(&self, submission: &Submission, runnable: bool) -> Result<SubmissionHandle, SubmitError> {
        self.outbox.submit(submission, runnable)
    }

    /// Sends a request to the sequencer; returns `None` if there is no response within `most`.
    pub fn query(&self, question: Vec<u8>, most: Duration) -> Option<Vec<u8>> {
        let frame = |number| Request::Query { number, question: question.into() }.encode();
        self.questions.query(most, |number| self.outbox.send_frame(frame(number))).map(Into::into)
    }

    /// Returns the number of answered submissions so far.
    pub fn answers(&self) -> u64 {
        self.outbox.answers()
    }

    /// Returns the reason for which the sequencer's production stopped, if it did.
    pub fn failure(&self) -> Option<String> {
        match self.known.report()?.phase {
            Phase::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    /// Releases everything that waits for the connection after it ended.
    pub(super) fn close(&self) {
        self.outbox.close();
        self.questions.close();
        self.shared.changes.notify();
    }

    pub(super) fn hang_up(&self) {
        if let Some(stream) = self.stream.lock().take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns the status of the node.
    pub fn status(&self) -> Status {
        let (welcome, said) = (self.known.welcome(), self.known.report());
        let sequencer = said.as_ref().map(|said| said.phase.clone());
        Status {
            phase: self.shared.phase(),
            age: self.shared.age(),
            pool_start: said.as_ref().map_or(PoolStart::New, |said| said.pool_start),
            produces: welcome.is_some_and(|welcome| welcome.produces),
            signer: said.as_ref().and_then(|said| said.signer),
            damage: self.shared.damage(),
            store: self.shared.followed_store(said.and_then(|said| said.store)),
            shown: self.shared.view().is_some(),
            following: Some(FollowingStatus {
                lag: self.known.lag(),
                beginnings: self.known.beginnings(),
                sequencer,
                unheard: self.shared.unheard(),
            }),
        }
    }

    /// Returns the progress of catching up; `None` when it is up to date.
    pub fn catching_up(&self) -> Option<CatchingUp> {
        self.known.catching_up()
    }

    /// Returns the sequencer's step interval; `None` before its greeting.
    pub fn step(&self) -> Option<Duration> {
        self.known.welcome().map(|welcome| welcome.production.step)
    }
}
