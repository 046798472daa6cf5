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
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_primitives::wire::{DecodeError, decode};

use super::{
    FollowerClient, FollowerProfile,
    chain_copy::{ApplyError, ChainCopy, CopyError, RestartCause},
    upstream_ticks::UpstreamTicks,
};
use crate::{
    phase::Phase,
    wire::{
        Ending, Heartbeat, Hello, MAX_RESPONSE_SIZE, MAX_SILENCE, Request, Response, Welcome, WireError,
        read_frame, strip_number,
    },
};

/// Outcome of a connection.
pub(super) enum ConnectionOutcome {
    /// Another attempt may succeed. `was_live` is `true` if the follower was up to date before.
    Lost { reason: String, was_live: bool },
    /// The peer rejected this process. Another address may accept it, now or later.
    Rejected(String),
    /// No further attempt can succeed.
    Failed(String),
}

impl ConnectionOutcome {
    pub fn lost(reason: String) -> Self {
        Self::Lost { reason, was_live: false }
    }
}

/// Error that ends a connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    #[error("the sequencer closed the connection")]
    Closed,
    #[error(transparent)]
    Ended(Ending),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error("a change of the pool does not decode: {0}")]
    Pool(DecodeError),
    #[error("this process writes the chain now")]
    TakenOver,
    #[error("the node at this address is stale: its last tick was {age_ms} ms ago")]
    Stale { age_ms: u64 },
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

/// The copy of the chain, and the connection that extends it.
pub(super) struct Session {
    client: Arc<FollowerClient>,
    chain: Box<dyn ChainCopy>,
    /// The sequencer's greeting.
    welcome: Option<Arc<Welcome>>,
    /// Number of frames since the greeting.
    received: u32,
    /// `true` if the backlog is applied, so that new views are published.
    live: bool,
    /// Number of the newest sealed block at the beginning of the connection.
    start: Option<u64>,
    ticks: UpstreamTicks,
    /// Number of the ownership that the content of the pool is from, 0 without a quorum journal; `None` before the
    /// first content.
    pool_epoch: Option<u64>,
}

impl Session {
    /// Creates the session of `client`; `None` if it has one.
    pub fn new(client: Arc<FollowerClient>) -> Option<Self> {
        let chain = client.chain.lock().take()?;
        Some(Self {
            client,
            chain,
            welcome: None,
            received: 0,
            live: false,
            start: None,
            ticks: UpstreamTicks::default(),
            pool_epoch: None,
        })
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

    /// Returns the outcome of the connection, after which the chain may have to start over.
    pub fn end(&mut self, broken: &ConnectionError) -> ConnectionOutcome {
        let cause = match broken {
            ConnectionError::Ended(Ending::Refused(reason)) => {
                return ConnectionOutcome::Rejected(reason.clone());
            }
            ConnectionError::Ended(Ending::CursorGone) => Some(RestartCause::CursorGone),
            ConnectionError::Copy(CopyError::Apply(
                ApplyError::ContentHash { .. } | ApplyError::OutOfOrder { .. },
            )) => Some(RestartCause::InvalidFrame),
            ConnectionError::Copy(CopyError::Apply(error)) => {
                Some(RestartCause::Contradicted(error.to_string()))
            }
            _ => None,
        };
        match cause.map_or(Ok(()), |cause| self.chain.start_over(&cause)) {
            Ok(()) => ConnectionOutcome::Lost { reason: broken.to_string(), was_live: self.live },
            Err(reason) => ConnectionOutcome::Failed(reason),
        }
    }

    fn greet<'s>(
        &mut self,
        mut stream: &'s UnixStream,
    ) -> Result<BufReader<&'s UnixStream>, ConnectionError> {
        stream.set_read_timeout(Some(self.client.max_silence()))?;
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

    /// Returns the greeting of a new connection, with the cursor of its chain.
    pub fn hello(&mut self) -> Result<Vec<u8>, ConnectionError> {
        (self.welcome, self.received, self.live, self.start) = (None, 0, false, None);
        self.ticks = UpstreamTicks::default();
        let cursor = self.chain.cursor()?;
        let FollowerClient { identity, profile, .. } = &*self.client;
        let FollowerProfile { name, role, run_id, version, rpc } = profile.clone();
        let identity = *identity;
        Ok(Request::Hello(Hello { identity, name, role, run_id, version, rpc, cursor }).encode())
    }

    /// Receives and handles the next frame.
    pub fn receive(&mut self, input: &mut impl Read) -> Result<(), ConnectionError> {
        let (kind, mut body) = next(input, self.client.max_silence())?;
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

    /// Handles the sequencer's greeting.
    fn begin(&mut self, welcome: Welcome) -> Result<(), ConnectionError> {
        let client = self.client.clone();
        let welcome = Arc::new(welcome);
        if self.chain.begin(&welcome)? {
            client.sequencer.begun();
        }
        self.note_progress();
        client.sequencer.set_welcome(welcome.clone());
        self.welcome = Some(welcome);
        client.outbox.open();
        Ok(())
    }

    /// Returns the sequence number of the append that is applied next; `None` before the chain is loaded.
    #[cfg(feature = "simulation")]
    pub fn next(&self) -> Option<u64> {
        self.chain.progress().map(|progress| progress.next)
    }

    /// Returns `true` once the sequencer's greeting has been received.
    pub fn is_greeted(&self) -> bool {
        self.welcome.is_some()
    }

    /// Returns `true` if the backlog is applied, so that new views are published.
    #[cfg(feature = "simulation")]
    pub fn is_live(&self) -> bool {
        self.live
    }

    fn handle(&mut self, response: Response) -> Result<(), ConnectionError> {
        let client = self.client.clone();
        let FollowerClient { backend, sequencer, outbox, .. } = &*client;
        match response {
            Response::Welcome(_) | Response::DirectoryCopy(_) => {}
            Response::Append(append) => {
                self.chain.apply(&append)?;
                self.note_progress();
                if self.live {
                    self.publish()?;
                }
            }
            Response::Pool(event) => self.apply_pool_event(&event)?,
            Response::Heartbeat(_) if !backend.is_following() => return Err(ConnectionError::TakenOver),
            Response::Heartbeat(heartbeat) => {
                sequencer.record_heartbeat(&heartbeat);
                backend.record_heartbeat(&heartbeat);
                self.check_age(&heartbeat)?;
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

    /// Applies a change of the sequencer's pool. The first one publishes the state that was caught up.
    fn apply_pool_event(&mut self, event: &[u8]) -> Result<(), ConnectionError> {
        let client = self.client.clone();
        let FollowerClient { backend, pool, sequencer, .. } = &*client;
        let event = decode(event).map_err(ConnectionError::Pool)?;
        if !self.live {
            // Adds transactions that a reorg returned to the pool before the view is published; removes included
            // ones afterwards.
            self.chain.while_following(&mut || pool.insert_missing(&event))?;
            self.publish()?;
            self.live = true;
            sequencer.set_catching_up(None);
            backend.set_phase(Phase::Following);
        }
        let before = self.pool_epoch;
        if event.is_whole_pool() {
            self.pool_epoch = Some(sequencer.owner_epoch());
        }
        // Before the first content, the pool has what this process accepted itself, or saved.
        let is_successor = event.is_whole_pool() && before != self.pool_epoch;
        let view = backend.view();
        let is_included =
            |hash: &B256| view.as_ref().is_some_and(|view| !matches!(view.transaction(hash), Ok(None)));
        let mut event = Some(event);
        self.chain.while_following(&mut || match event.take() {
            Some(event) if is_successor => pool.apply_from_successor(event, is_included),
            Some(event) => pool.apply(event),
            None => {}
        })?;
        backend.pool_changed();
        Ok(())
    }

    /// Leaves a node that no longer ticks, if there is another address.
    fn check_age(&mut self, heartbeat: &Heartbeat) -> Result<(), ConnectionError> {
        let Some(welcome) = self.welcome.as_ref().filter(|welcome| welcome.produces) else { return Ok(()) };
        let is_stale = self.ticks.is_stale_after(heartbeat, welcome.production.step);
        if !is_stale || !self.client.has_other_addresses() {
            return Ok(());
        }
        let age_ms = u64::try_from(heartbeat.age.as_millis()).unwrap_or(u64::MAX);
        Err(ConnectionError::Stale { age_ms })
    }

    /// Updates the progress in the status.
    fn note_progress(&mut self) {
        let FollowerClient { backend, sequencer, .. } = &*self.client;
        let Some(progress) = self.chain.progress() else { return };
        sequencer.applied(progress.next);
        if !self.live {
            let current = progress.latest;
            sequencer.set_catching_up(Some((*self.start.get_or_insert(current), current)));
        }
        if backend.view().is_none() {
            backend.set_phase(Phase::Replaying { records: progress.records });
        }
    }

    /// Publishes the newest state of the chain.
    fn publish(&mut self) -> Result<(), ConnectionError> {
        match &self.welcome {
            Some(welcome) => Ok(self.chain.publish(welcome)?),
            None => Ok(()),
        }
    }
}

/// Reads the next frame.
fn next(input: &mut impl Read, timeout: Duration) -> Result<(u8, Vec<u8>), ConnectionError> {
    let silent = |error: WireError| match error {
        WireError::Io(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
        {
            WireError::Silent { seconds: timeout.as_secs() }
        }
        error => error,
    };
    read_frame(input, MAX_RESPONSE_SIZE).map_err(silent)?.ok_or(ConnectionError::Closed)
}
