//! One follower: the backlog from the journal, the whole pool, then whatever happens.

use std::{
    io::{self, BufWriter, Write},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use alloy_primitives::Bytes;
use foreseal_journal::JournalError;
use foreseal_types::mutant;

use super::{
    Source,
    answers::Answers,
    frames::{FrameLog, Standing, Taken},
    peers::Peer,
};
use crate::{
    Phase,
    wire::{Cursor, Down, Ending, GREATEST_UP, Hello, Outcome, Pulse, Said, Up, WireError, read_frame},
};

/// A side that says nothing for so long is gone; one that does not take what is sent to it as well. By the machine's time,
/// whatever clock the chain runs on.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
/// Something is said so often.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// Appends behind which a follower gets the pool: what comes meanwhile fits into the ring.
const NEAR: u64 = 16;

/// Why a follower is no longer served.
#[derive(Debug, thiserror::Error)]
pub(super) enum Left {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("it does not take what is sent to it: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("it was told: {0}")]
    Told(Ending),
    #[error("it closed the connection")]
    Closed,
}

/// Serves a follower until it leaves.
pub(super) fn serve(source: &Source, stream: &UnixStream) -> Result<(), Left> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut out = BufWriter::new(stream);
    let ended = greet(source, stream).and_then(|(hello, peer)| {
        let _attached = Attached::to(source, &peer);
        let ears = listen(stream.try_clone()?, &peer, source)?;
        let seen = source.log.standing();
        let mut talk = Talk { source, out: &mut out, ears, said: None, pulsed: Instant::now(), at: 0, seen };
        talk.run(hello.cursor)
    });
    if let Err(Left::Told(ending)) = &ended {
        out.write_all(&Down::End(ending.clone()).encode())?;
        out.flush()?;
    }
    ended
}

/// Reads the greeting.
fn greet(source: &Source, mut stream: &UnixStream) -> Result<(Hello, Arc<Peer>), Left> {
    let Some((kind, body)) = read_frame(&mut stream, GREATEST_UP)? else { return Err(Left::Closed) };
    let hello = match Up::decode(kind, body) {
        Ok(Up::Hello(hello)) => hello,
        Ok(_) => return Err(WireError::NoGreeting.into()),
        Err(error @ WireError::Version { .. }) => return Err(Left::Told(Ending::Refused(error.to_string()))),
        Err(error) => return Err(error.into()),
    };
    if hello.identity != source.identity {
        let why = format!("it runs {}, the follower {}", source.identity, hello.identity);
        return Err(Left::Told(Ending::Refused(why)));
    }
    let peer = Peer {
        name: hello.name.clone(),
        since: source.shared.clock.now().monotonic,
        next: AtomicU64::new(0),
        report: parking_lot::Mutex::default(),
    };
    Ok((hello, Arc::new(peer)))
}

/// What is kept for a follower while it is connected.
struct Attached<'s> {
    source: &'s Source,
    peer: Arc<Peer>,
}

impl<'s> Attached<'s> {
    fn to(source: &'s Source, peer: &Arc<Peer>) -> Self {
        source.log.attach();
        {
            let mut listeners = source.listeners.lock();
            *listeners += 1;
            if *listeners == 1 {
                source.shared.pool.listen(Some(source.log.clone()));
            }
        }
        source.peers.add(peer.clone());
        Self { source, peer: peer.clone() }
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        {
            let mut listeners = self.source.listeners.lock();
            *listeners -= 1;
            if *listeners == 0 {
                self.source.shared.pool.listen(None);
            }
        }
        self.source.log.detach();
        self.source.peers.remove(&self.peer);
    }
}

/// What the other thread of a connection hears.
#[derive(Debug, Default)]
struct Ears {
    answers: Answers,
    /// Whether there is nothing more to hear.
    gone: AtomicBool,
}

/// However a thread ends that hears, also by a panic: its connection does not go on without it.
struct Hearing {
    ears: Arc<Ears>,
    log: Arc<FrameLog>,
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.ears.gone.store(true, Ordering::Release);
        self.log.wake();
    }
}

/// Starts the thread that hears what the follower says.
fn listen(mut stream: UnixStream, peer: &Arc<Peer>, source: &Source) -> io::Result<Arc<Ears>> {
    let ears = Arc::<Ears>::default();
    let (peer, shared) = (peer.clone(), source.shared.clone());
    let hearing = Hearing { ears: ears.clone(), log: source.log.clone() };
    let run = move || {
        let Hearing { ears, log } = &hearing;
        while let Ok(Some((kind, body))) = read_frame(&mut stream, GREATEST_UP) {
            match Up::decode(kind, body) {
                Ok(Up::Alive { next }) => peer.next.store(next, Ordering::Release),
                Ok(Up::Report(metrics)) => *peer.report.lock() = metrics,
                Ok(Up::Submit { number, runnable, submission }) => {
                    let outcome = Outcome::of(shared.admit_forwarded(&submission, runnable));
                    // What it did to the pool is in the log by now.
                    let at = if mutant!("answer-before-event") { 0 } else { log.standing().end };
                    ears.answers.add(at, Down::Answer { number, outcome }.encode());
                    log.wake();
                }
                Ok(Up::Ask { number, question }) => {
                    let now = shared.clock.now().monotonic;
                    let answer = shared.desk.answer(&question, &shared.pool, now).unwrap_or_default();
                    // Whatever the answer builds on is in the log by now.
                    ears.answers
                        .add(log.standing().end, Down::Told { number, answer: answer.into() }.encode());
                    log.wake();
                }
                Ok(Up::Hello(_)) => {}
                Err(error) => {
                    tracing::warn!(%error, name = peer.name, "a follower says what cannot be read");
                    break;
                }
            }
        }
    };
    std::thread::Builder::new().name("foreseal-feed-ear".to_owned()).spawn(run)?;
    Ok(ears)
}

/// The sequencer's side of a connection.
struct Talk<'s, 'o> {
    source: &'s Source,
    out: &'o mut BufWriter<&'s UnixStream>,
    ears: Arc<Ears>,
    /// What was said last, and when.
    said: Option<(Said, Instant)>,
    /// When the last sign of life was given.
    pulsed: Instant,
    /// Place in the log of the frame that is sent next.
    at: u64,
    /// Where the log stood when it was last looked at.
    seen: Standing,
}

impl Talk<'_, '_> {
    fn run(&mut self, cursor: Cursor) -> Result<(), Left> {
        let from = self.begin(cursor)?;
        self.write(&Down::Welcome(self.source.welcome.clone()))?;
        self.say()?;
        self.pulse(false)?;
        let from = self.backlog(from)?;
        self.join(from)?;
        loop {
            self.go_on()?;
        }
    }

    fn write(&mut self, down: &Down) -> Result<(), Left> {
        Ok(self.out.write_all(&down.encode())?)
    }

    /// Sequence number of the first append that the follower needs.
    fn begin(&self, cursor: Cursor) -> Result<u64, Left> {
        let next = self.source.log.standing().next;
        let (sequence, hash) = match cursor {
            Cursor::From { sequence } if sequence <= next => return Ok(sequence),
            Cursor::After { sequence, hash } if sequence < next => (sequence, hash),
            Cursor::From { .. } | Cursor::After { .. } => return Err(Left::Told(Ending::CursorGone)),
        };
        let found = self.source.past.until(next).wholes(sequence)?.next().transpose()?;
        match found {
            Some(append) if append.sequence == sequence && append.hash == hash => {
                Ok(sequence + if mutant!("cursor-off-by-one") { 2 } else { 1 })
            }
            _ => Err(Left::Told(Ending::CursorGone)),
        }
    }

    /// Sends appends from the journal until the newest are near; the sequence number of the next one.
    fn backlog(&mut self, mut from: u64) -> Result<u64, Left> {
        loop {
            let next = self.source.log.standing().next;
            if next.saturating_sub(from) <= NEAR {
                return Ok(from);
            }
            from = self.past(from, next)?;
            self.pulse(false)?;
        }
    }

    /// Sends the appends from number `from` up to the one before `to` from the journal.
    fn past(&mut self, mut from: u64, to: u64) -> Result<u64, Left> {
        for append in self.source.past.until(to).wholes(from)? {
            let append = append?;
            if append.sequence != from {
                return Err(Left::Told(Ending::CursorGone));
            }
            from += 1;
            self.write(&Down::Append(append))?;
            self.heard()?;
        }
        if from == to { Ok(from) } else { Err(Left::Told(Ending::CursorGone)) }
    }

    /// The rest of the backlog and the whole pool, as of one place in the log; from there on the log has everything.
    fn join(&mut self, from: u64) -> Result<(), Left> {
        let (pool, standing) = self.whole_pool();
        match self.source.log.appends(from, standing.next) {
            Some(frames) => frames.iter().try_for_each(|frame| self.out.write_all(frame))?,
            None => {
                self.past(from, standing.next)?;
            }
        }
        self.write(&Down::Pool(pool))?;
        (self.at, self.seen) = (standing.end, standing);
        self.pulse(false)
    }

    /// All of the pool, and where in the log that is true.
    fn whole_pool(&self) -> (Bytes, Standing) {
        let source = self.source;
        let (event, standing) = source.shared.pool.whole(|event| (event, source.log.standing()));
        // Outside of the pool's lock: steps are waiting for that.
        let mut bytes = Vec::new();
        event.encode(&mut bytes);
        (bytes.into(), standing)
    }

    /// Waits for something to happen, and tells it.
    fn go_on(&mut self) -> Result<(), Left> {
        for answer in self.ears.answers.due(self.at) {
            self.out.write_all(&answer)?;
        }
        self.out.flush()?;
        let (taken, standing) = self.source.log.take(self.at, self.seen, BEAT);
        let before = std::mem::replace(&mut self.seen, standing);
        match taken {
            Taken::Frames(frames) => {
                frames.iter().try_for_each(|frame| self.out.write_all(frame))?;
                self.at += frames.len() as u64;
            }
            Taken::Nothing => {}
            Taken::FellBehind => return Err(Left::Told(Ending::FellBehind)),
            Taken::Closed => return Err(Left::Told(Ending::Stopping)),
        }
        let ticked = standing.ticks != before.ticks;
        if ticked || self.pulsed.elapsed() >= BEAT {
            self.pulse(ticked)?;
        }
        self.say()?;
        self.heard()
    }

    fn heard(&self) -> Result<(), Left> {
        if self.ears.gone.load(Ordering::Acquire) { Err(Left::Closed) } else { Ok(()) }
    }

    fn pulse(&mut self, ticked: bool) -> Result<(), Left> {
        let shared = &self.source.shared;
        let (age, next) = (shared.age(), self.source.log.standing().next);
        let latest = shared.view().map_or(0, |view| view.latest().number());
        self.write(&Down::Pulse(Pulse { ticked, age, next, latest }))?;
        self.pulsed = Instant::now();
        Ok(self.out.flush()?)
    }

    /// Says how the sequencer is, if that is something new: at once when its phase changed, else now and then.
    fn say(&mut self) -> Result<(), Left> {
        let shared = &self.source.shared;
        let phase: Phase = shared.phase();
        if let Some((said, when)) = &self.said
            && said.phase == phase
            && when.elapsed() < BEAT
        {
            return Ok(());
        }
        let (pool_start, signer, store) = (shared.pool_start(), self.source.signer, shared.store_status());
        let said = Said { phase, pool_start, signer, store };
        if self.said.as_ref().is_none_or(|(before, _)| *before != said) {
            self.write(&Down::Said(said.clone()))?;
        }
        self.said = Some((said, Instant::now()));
        Ok(())
    }
}
