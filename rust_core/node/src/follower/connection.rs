//! One connection to the sequencer, from the greeting to its end.

use std::{
    io::{self, BufReader, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use foreseal_builder::BuildError;
use foreseal_journal::Identity;
use foreseal_pool::PoolEvent;

use super::{
    Following,
    following::Held,
    replica::{Misfit, Replica, Seed},
};
use crate::{
    NodeError, Phase,
    feed_server::SILENCE,
    wire::{Down, Ending, GREATEST_DOWN, Hello, Pulse, Up, Welcome, WireError, read_frame},
};

/// How a connection ended.
pub(super) enum Ended {
    /// Another attempt may do better. Whether it was up to date before.
    Lost { reason: String, was_live: bool },
    /// No attempt will.
    Refused(String),
}

impl Ended {
    pub fn lost(reason: String) -> Self {
        Self::Lost { reason, was_live: false }
    }
}

/// What breaks a connection off.
#[derive(Debug, thiserror::Error)]
enum Break {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("the sequencer closed the connection")]
    Closed,
    #[error(transparent)]
    Ended(Ending),
    #[error("the store has no block yet")]
    NoBlock,
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("it begins again with the store: {0}")]
    Misfit(#[from] Misfit),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("a change of the pool does not decode: {0}")]
    Pool(alloy_rlp::Error),
    #[error("the sequencer greets with something else")]
    NoWelcome,
}

/// However a connection ends, also by a panic: nobody waits any longer for what it would have brought.
struct Closing<'s> {
    following: &'s Following,
    stream: &'s UnixStream,
    /// For the thread that sends.
    over: &'s AtomicBool,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Following { outbox, questions, shared, .. } = self.following;
        self.over.store(true, Ordering::Release);
        outbox.wake();
        let _ = self.stream.shutdown(Shutdown::Both);
        outbox.close();
        questions.close();
        shared.changes.notify();
    }
}

/// A connection, and the replica that it keeps up to date.
pub(super) struct Session<'f> {
    following: &'f Following,
    held: &'f mut Held,
    welcome: Option<Arc<Welcome>>,
    /// Whether everything up to now is applied, so that what comes is shown.
    live: bool,
    /// Number of the newest sealed block at the beginning.
    start: Option<u64>,
}

impl<'f> Session<'f> {
    pub fn new(following: &'f Following, held: &'f mut Held) -> Self {
        Self { following, held, welcome: None, live: false, start: None }
    }

    pub fn run(mut self, stream: &UnixStream) -> Ended {
        let (over, following) = (AtomicBool::new(false), self.following);
        let broken = std::thread::scope(|scope| {
            let _closing = Closing { following, stream, over: &over };
            let mut input = self.greet(stream)?;
            following.outbox.open();
            scope.spawn(|| following.outbox.send(stream, &following.known, &over));
            self.listen(&mut input)
        });
        let Err(broken) = broken else { return Ended::lost(Break::Closed.to_string()) };
        match broken {
            Break::Ended(Ending::Refused(reason)) => return Ended::Refused(reason),
            Break::Ended(Ending::CursorGone) | Break::Misfit(_) => self.held.start_over(),
            _ => {}
        }
        Ended::Lost { reason: broken.to_string(), was_live: self.live }
    }

    /// Says where the replica is; the sequencer says how it produces.
    fn greet<'s>(&mut self, mut stream: &'s UnixStream) -> Result<BufReader<&'s UnixStream>, Break> {
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let Following { ground, name, known, .. } = self.following;
        let seed = match &self.held.replica {
            Some(_) => None,
            None => Some(Seed::of(&ground.store)?.ok_or(Break::NoBlock)?),
        };
        let cursor = match (&self.held.replica, &seed) {
            (Some(replica), _) => replica.cursor(),
            (None, Some(seed)) => seed.cursor(),
            (None, None) => return Err(Break::NoBlock),
        };
        let genesis = ground.store.options().genesis;
        let identity = Identity { chain_id: ground.spec.chain_id(), genesis };
        stream.write_all(&Up::Hello(Hello { identity, name: name.clone(), cursor }).encode())?;
        let mut input = BufReader::with_capacity(1 << 16, stream);
        let welcome = Arc::new(welcome(&mut input)?);
        if let Some(seed) = seed {
            let replica = Replica::begin(ground.clone(), &seed, &welcome, self.held.undone)?;
            self.held.replica = Some(replica);
            known.begun();
        }
        self.note_progress();
        known.set_welcome(welcome.clone());
        self.welcome = Some(welcome);
        Ok(input)
    }

    fn listen(&mut self, input: &mut BufReader<&UnixStream>) -> Result<(), Break> {
        loop {
            let down = next(input)?;
            self.following.shared.heard();
            self.take(down)?;
        }
    }

    fn take(&mut self, down: Down) -> Result<(), Break> {
        let Following { shared, known, outbox, .. } = self.following;
        match down {
            Down::Welcome(_) => {}
            Down::Append(append) => {
                let replica = self.replica()?;
                replica.apply(&append)?;
                self.note_progress();
                if self.live {
                    self.show()?;
                }
            }
            Down::Pool(event) => {
                let event = PoolEvent::decode(&event).map_err(Break::Pool)?;
                if !self.live {
                    // First what a view that went back returned to the pool, at last what left it for the view.
                    shared.pool.join(&event);
                    self.show()?;
                    self.live = true;
                    known.set_catching_up(None);
                    shared.set_phase(Phase::Following);
                }
                shared.pool.apply(event);
                shared.feed.arrived();
            }
            Down::Pulse(Pulse { ticked, age, next, latest }) => {
                known.told(next, latest);
                shared.hear_tick(age, ticked);
            }
            Down::Said(said) => {
                let failed = matches!(said.phase, Phase::Failed(_));
                known.set_said(said);
                if failed {
                    shared.changes.notify();
                }
            }
            Down::Told { number, answer } => self.following.questions.told(number, answer),
            Down::Answer { number, outcome } => {
                outbox.answered(number, outcome);
                shared.changes.notify();
            }
            Down::End(ending) => return Err(Break::Ended(ending)),
        }
        Ok(())
    }

    fn replica(&mut self) -> Result<&mut Replica, Break> {
        self.held.replica.as_mut().ok_or(Break::NoBlock)
    }

    /// Notes how far it is, for the status.
    fn note_progress(&mut self) {
        let Following { shared, known, .. } = self.following;
        let Some(replica) = &self.held.replica else { return };
        known.applied(replica.next());
        if !self.live {
            let current = replica.latest();
            known.set_catching_up(Some((*self.start.get_or_insert(current), current)));
        }
        if shared.view().is_none() {
            shared.set_phase(Phase::Replaying { records: replica.records() });
        }
    }

    /// Shows the replica. In the middle of a change that the sequencer did not show either, there is nothing to show.
    fn show(&mut self) -> Result<(), Break> {
        let Some(replica) = &self.held.replica else { return Ok(()) };
        let shared = &self.following.shared;
        let idle = |welcome: &Welcome| !welcome.produces || shared.view().is_none();
        let view = match (replica.view(), &self.welcome) {
            (Some(view), _) => view,
            (None, Some(welcome)) if idle(welcome) => replica.idle_view(welcome)?,
            (None, _) => return Ok(()),
        };
        shared.publish(Arc::new(view));
        Ok(())
    }
}

fn welcome(input: &mut BufReader<&UnixStream>) -> Result<Welcome, Break> {
    match next(input)? {
        Down::Welcome(welcome) => Ok(welcome),
        Down::End(ending) => Err(Break::Ended(ending)),
        _ => Err(Break::NoWelcome),
    }
}

/// The next frame.
fn next(input: &mut BufReader<&UnixStream>) -> Result<Down, Break> {
    let silent = |error: WireError| match error {
        WireError::Io(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
        {
            WireError::Silent { seconds: SILENCE.as_secs() }
        }
        error => error,
    };
    let (kind, body) = read_frame(input, GREATEST_DOWN).map_err(silent)?.ok_or(Break::Closed)?;
    Ok(Down::decode(kind, body)?)
}
