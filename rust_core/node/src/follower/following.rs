//! The thread that follows the sequencer, and the node's interface to it.

use std::{
    net::Shutdown,
    os::unix::net::UnixStream,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use foreseal_pool::Submission;
use parking_lot::Mutex;

use super::{
    connection::{ConnectionOutcome, Session},
    outbox::Outbox,
    pending_requests::PendingRequests,
    replica::{Replica, ReplicaConfig},
    sequencer_status::SequencerStatus,
};
use crate::{
    CatchingUp, NodeError, Phase, PoolStart, SubmissionHandle, SubmitError,
    shared::Shared,
    status::{FollowingStatus, Status},
    wire::Request,
};

/// Delays between connection attempts. They are short so that a restarted sequencer is found quickly; an
/// attempt costs next to nothing.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(160);

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
    stream: Mutex<Option<UnixStream>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// State that persists across connections.
#[derive(Default)]
pub(super) struct ReplicaState {
    pub replica: Option<Replica>,
    /// Number of blocks removed from the published chain, or from an earlier replica.
    pub undone: u64,
}

impl ReplicaState {
    /// Discards the replica: the next connection starts from the store.
    pub fn start_over(&mut self) {
        if let Some(replica) = self.replica.take() {
            // Views from before are never joined with later ones.
            self.undone = replica.undone() + 1;
        }
    }
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

    /// Starts the thread without blocking; a second call does nothing.
    pub fn start(self: &Arc<Self>) -> Result<(), NodeError> {
        let mut thread = self.thread.lock();
        if thread.is_some() || self.shared.stopping() {
            return Ok(());
        }
        let own = self.clone();
        let run = move || {
            let shared = own.shared.clone();
            let _working = shared.activity.work();
            if catch_unwind(AssertUnwindSafe(|| own.run())).is_err() {
                own.shared.set_phase(Phase::Failed("internal error in the following thread".to_owned()));
            }
        };
        let spawned = std::thread::Builder::new().name("foreseal-follow".to_owned()).spawn(run);
        *thread = Some(spawned.map_err(|error| NodeError::io("start a thread for", &self.socket, &error))?);
        Ok(())
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
    pub fn ask(&self, question: Vec<u8>, most: Duration) -> Option<Vec<u8>> {
        let frame = |number| Request::Ask { number, question: question.into() }.encode();
        self.questions.ask(most, |number| self.outbox.send_frame(frame(number))).map(Into::into)
    }

    /// Returns the number of answered submissions so far.
    pub fn answers(&self) -> u64 {
        self.outbox.answers()
    }

    /// Returns the reason for which the sequencer's production stopped, if it did.
    pub fn failure(&self) -> Option<String> {
        match self.known.said()?.phase {
            Phase::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    fn run(self: &Arc<Self>) {
        let (mut session, mut wait, mut told) = (Session::new(self.clone()), FIRST_WAIT, None);
        while !self.shared.stopping() {
            let ended = self.connect(&mut session);
            self.hang_up();
            if self.shared.stopping() {
                break;
            }
            self.note_end(&ended);
            match ended {
                ConnectionOutcome::Refused(reason) => {
                    tracing::error!(reason, "the sequencer cannot be followed");
                    return;
                }
                ConnectionOutcome::Lost { reason, was_live } => {
                    // One log line for a series of attempts that fail in the same way.
                    if was_live || told.as_ref() != Some(&reason) {
                        tracing::warn!(reason, "the sequencer is not followed for now");
                        told = Some(reason);
                    }
                    wait = if was_live { FIRST_WAIT } else { (wait * 2).min(LONGEST_WAIT) };
                }
            }
            self.shared.sleep(wait);
        }
        self.shared.set_phase(Phase::Stopped);
    }

    /// Releases everything that waits for the connection after it ended.
    pub(super) fn close(&self) {
        self.outbox.close();
        self.questions.close();
        self.shared.changes.notify();
    }

    /// Publishes the outcome of a connection as the phase.
    pub(super) fn note_end(&self, ended: &ConnectionOutcome) {
        self.shared.set_phase(match ended {
            ConnectionOutcome::Refused(reason) => Phase::Failed(reason.clone()),
            ConnectionOutcome::Lost { reason, .. } => Phase::Disconnected(reason.clone()),
        });
    }

    /// Follows over one connection until it ends.
    fn connect(&self, session: &mut Session) -> ConnectionOutcome {
        let stream = match UnixStream::connect(&self.socket) {
            Ok(stream) => stream,
            Err(error) => return ConnectionOutcome::lost(format!("{}: {error}", self.socket.display())),
        };
        match stream.try_clone() {
            Ok(own) => *self.stream.lock() = Some(own),
            Err(error) => return ConnectionOutcome::lost(error.to_string()),
        }
        // A thread that stops the node either sees the stream or is seen here.
        if self.shared.stopping() {
            return ConnectionOutcome::lost("it is stopping".to_owned());
        }
        session.run(&stream)
    }

    fn hang_up(&self) {
        if let Some(stream) = self.stream.lock().take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns the status of the node.
    pub fn status(&self) -> Status {
        let (welcome, said) = (self.known.welcome(), self.known.said());
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
