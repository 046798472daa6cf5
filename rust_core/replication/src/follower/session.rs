//! One connection to the sequencer, from the greeting to its end.

use std::{
    convert::Infallible,
    io::{self, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use foreseal_builder::BuildError;
use foreseal_journal::Identity;
use foreseal_primitives::{
    mutant,
    wire::{DecodeError, decode},
};

use super::{
    FollowerClient,
    replica::{ApplyError, Replica, StoreCheckpoint},
    replica_state::ReplicaState,
};
use crate::{
    Phase, ReplicationError,
    wire::{
        Ending, Hello, MAX_RESPONSE_SIZE, MAX_SILENCE, Request, Response, Welcome, WireError, read_frame,
        strip_number,
    },
};

/// Outcome of a connection.
pub(super) enum ConnectionOutcome {
    /// Another attempt may succeed. `was_live` is `true` if the follower was up to date before.
    Lost { reason: String, was_live: bool },
    /// No further attempt can succeed.
    Refused(String),
}

impl ConnectionOutcome {
    pub fn lost(reason: String) -> Self {
        Self::Lost { reason, was_live: false }
    }
}

/// Error that ends a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    #[error("the sequencer closed the connection")]
    Closed,
    #[error(transparent)]
    Ended(Ending),
    #[error("the store has no block yet")]
    NoBlock,
    #[error(transparent)]
    Replication(#[from] ReplicationError),
    #[error("resuming from the store: {0}")]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("a change of the pool does not decode: {0}")]
    Pool(DecodeError),
    #[error("the sequencer sent an invalid greeting")]
    NoWelcome,
}

/// Guard that releases everything that waits for a connection when the connection ends, even by a panic.
struct Closing<'s> {
    client: &'s FollowerClient,
    stream: &'s UnixStream,
    /// Ends the sending thread.
    over: &'s AtomicBool,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.client.outbox.wake();
        let _ = self.stream.shutdown(Shutdown::Both);
        self.client.close();
    }
}

/// The replica, and the connection that keeps it up to date.
pub(super) struct Session {
    client: Arc<FollowerClient>,
    state: ReplicaState,
    /// Position of the store when this connection was greeted without a replica.
    checkpoint: Option<StoreCheckpoint>,
    /// The sequencer's greeting.
    welcome: Option<Arc<Welcome>>,
    /// Number of frames since the greeting.
    received: u32,
    /// `true` if the backlog is applied, so that new views are published.
    live: bool,
    /// Number of the newest sealed block at the beginning of the connection.
    start: Option<u64>,
}

impl Session {
    pub fn new(client: Arc<FollowerClient>) -> Self {
        Self {
            client,
            state: ReplicaState::default(),
            checkpoint: None,
            welcome: None,
            received: 0,
            live: false,
            start: None,
        }
    }

    /// Follows over one connection until it ends.
    pub fn run(&mut self, stream: &UnixStream) -> ConnectionOutcome {
        let (over, client) = (AtomicBool::new(false), self.client.clone());
        let done = std::thread::scope(|scope| {
            let _closing = Closing { client: &client, stream, over: &over };
            let mut input = self.greet(stream)?;
            scope.spawn(|| client.outbox.send(stream, &client.sequencer, &over));
            self.listen(&mut input)
        });
        let Err(broken) = done;
        self.end(&broken)
    }

    /// Returns the outcome of the connection, and resets the replica if the next one must start from the
    /// store.
    pub fn end(&mut self, broken: &ConnectionError) -> ConnectionOutcome {
        match broken {
            ConnectionError::Ended(Ending::Refused(reason)) => {
                return ConnectionOutcome::Refused(reason.clone());
            }
            ConnectionError::Ended(Ending::CursorGone) | ConnectionError::Apply(_) => {
                self.state.start_over();
            }
            _ => {}
        }
        ConnectionOutcome::Lost { reason: broken.to_string(), was_live: self.live }
    }

    fn greet<'s>(
        &mut self,
        mut stream: &'s UnixStream,
    ) -> Result<BufReader<&'s UnixStream>, ConnectionError> {
        stream.set_read_timeout(Some(MAX_SILENCE))?;
        stream.set_write_timeout(Some(MAX_SILENCE))?;
        stream.write_all(&self.hello()?)?;
        let mut input = BufReader::with_capacity(1 << 16, stream);
        self.receive(&mut input)?;
        Ok(input)
    }

    fn listen(&mut self, input: &mut impl Read) -> Result<Infallible, ConnectionError> {
        loop {
            self.receive(input)?;
        }
    }

    /// Returns the greeting of a new connection, with the replica's cursor.
    pub fn hello(&mut self) -> Result<Vec<u8>, ConnectionError> {
        (self.checkpoint, self.welcome, self.received, self.live, self.start) = (None, None, 0, false, None);
        let FollowerClient { config, name, .. } = &*self.client;
        let cursor = match &self.state.replica {
            Some(replica) => replica.cursor(),
            None => self
                .checkpoint
                .insert(StoreCheckpoint::read(&config.store)?.ok_or(ConnectionError::NoBlock)?)
                .cursor(),
        };
        let genesis = config.store.options().genesis;
        let identity = Identity { chain_id: config.spec.chain_id(), genesis };
        Ok(Request::Hello(Hello { identity, name: name.clone(), cursor }).encode())
    }

    /// Receives and handles the next frame.
    pub fn receive(&mut self, input: &mut impl Read) -> Result<(), ConnectionError> {
        let (kind, mut body) = next(input)?;
        if self.is_greeted() {
            strip_number(&mut body, self.received)?;
            self.received = self.received.wrapping_add(1);
        }
        let response = Response::decode(kind, body)?;
        self.client.backend.frame_arrived();
        match (response, &self.welcome) {
            (Response::Welcome(welcome), None) => self.begin(welcome),
            (Response::End(ending), None) => Err(ConnectionError::Ended(ending)),
            (_, None) => Err(ConnectionError::NoWelcome),
            (response, Some(_)) => self.handle(response),
        }
    }

    /// Handles the sequencer's greeting. Creates a replica if there is none.
    fn begin(&mut self, welcome: Welcome) -> Result<(), ConnectionError> {
        let client = self.client.clone();
        let welcome = Arc::new(welcome);
        if let Some(checkpoint) = self.checkpoint.take() {
            let replica = Replica::begin(client.config.clone(), &checkpoint, &welcome, self.state.reorged)?;
            self.state.replica = Some(replica);
            client.sequencer.begun();
        }
        self.note_progress();
        client.sequencer.set_welcome(welcome.clone());
        self.welcome = Some(welcome);
        client.outbox.open();
        Ok(())
    }

    /// Returns the sequence number of the append that is applied next; `None` before there is a replica.
    pub fn next(&self) -> Option<u64> {
        self.state.replica.as_ref().map(Replica::next)
    }

    /// Returns `true` once the sequencer's greeting has been received.
    pub fn is_greeted(&self) -> bool {
        self.welcome.is_some()
    }

    /// Returns `true` if the backlog is applied, so that new views are published.
    pub fn is_live(&self) -> bool {
        self.live
    }

    fn handle(&mut self, response: Response) -> Result<(), ConnectionError> {
        let client = self.client.clone();
        let FollowerClient { backend, pool, sequencer, outbox, .. } = &*client;
        match response {
            Response::Welcome(_) => {}
            Response::Append(append) => {
                let replica = self.replica()?;
                replica.apply(&append)?;
                self.note_progress();
                if self.live || mutant!("show-while-catching-up") {
                    self.publish()?;
                }
            }
            Response::Pool(event) => {
                let event = decode(&event).map_err(ConnectionError::Pool)?;
                if !self.live {
                    // Adds transactions that a reorg returned to the pool before the view is published;
                    // removes included ones afterwards.
                    pool.insert_missing(&event);
                    self.publish()?;
                    self.live = true;
                    sequencer.set_catching_up(None);
                    backend.set_phase(Phase::Following);
                }
                pool.apply(event);
                backend.pool_changed();
            }
            Response::Heartbeat(heartbeat) => {
                sequencer.record_heartbeat(&heartbeat);
                backend.record_heartbeat(&heartbeat);
            }
            Response::SequencerReport(report) => {
                let failed = matches!(report.phase, Phase::Failed(_));
                sequencer.set_report(report);
                if failed {
                    backend.wake_waiters();
                }
            }
            Response::Reply { number, answer } => client.pending_requests.resolve(number, answer),
            Response::Answer { number, outcome } => {
                outbox.answered(number, outcome);
                backend.wake_waiters();
            }
            Response::End(ending) => return Err(ConnectionError::Ended(ending)),
        }
        Ok(())
    }

    fn replica(&mut self) -> Result<&mut Replica, ConnectionError> {
        self.state.replica.as_mut().ok_or(ConnectionError::NoBlock)
    }

    /// Updates the progress in the status.
    fn note_progress(&mut self) {
        let FollowerClient { backend, sequencer, .. } = &*self.client;
        let Some(replica) = &self.state.replica else { return };
        sequencer.applied(replica.next());
        if !self.live {
            let current = replica.latest();
            sequencer.set_catching_up(Some((*self.start.get_or_insert(current), current)));
        }
        if backend.view().is_none() {
            backend.set_phase(Phase::Replaying { records: replica.records() });
        }
    }

    /// Publishes the replica's view. There is none in the middle of a change that the sequencer did not
    /// publish either.
    fn publish(&mut self) -> Result<(), ConnectionError> {
        let Some(replica) = &self.state.replica else { return Ok(()) };
        let backend = &self.client.backend;
        let idle = |welcome: &Welcome| !welcome.produces || backend.view().is_none();
        let view = match (replica.view(), &self.welcome) {
            (Some(view), _) => view,
            (None, Some(welcome)) if idle(welcome) => replica.idle_view(welcome)?,
            (None, _) => return Ok(()),
        };
        backend.publish(Arc::new(view));
        Ok(())
    }
}

/// Reads the next frame.
fn next(input: &mut impl Read) -> Result<(u8, Vec<u8>), ConnectionError> {
    let silent = |error: WireError| match error {
        WireError::Io(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
        {
            WireError::Silent { seconds: MAX_SILENCE.as_secs() }
        }
        error => error,
    };
    read_frame(input, MAX_RESPONSE_SIZE).map_err(silent)?.ok_or(ConnectionError::Closed)
}
