//! A connection to one follower: the backlog from the journal, the whole pool, then live events.

use std::{
    io::{self, BufWriter, Read, Write},
    os::unix::net::UnixStream,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use alloy_primitives::Bytes;
use foreseal_journal::JournalError;
use foreseal_primitives::{mutant, wire::to_vec};

use super::{
    FeedSource,
    feed_source::Attached,
    frame_log::{FrameRead, LogStatus},
    peers::Peer,
    request_reader::{RequestReader, listen},
};
use crate::wire::{
    Cursor, Ending, GREATEST_UP, HEARTBEAT_INTERVAL, Heartbeat, Hello, MAX_SILENCE, Request, Response,
    SequencerReport, WireError, read_frame, write_numbered,
};

/// Reason for which a follower is no longer served.
#[derive(Debug, thiserror::Error)]
pub(super) enum DisconnectReason {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("sending failed: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the sequencer ended it: {0}")]
    Dismissed(Ending),
    #[error("it closed the connection")]
    Closed,
}

/// Serves a follower until it disconnects.
pub(super) fn serve(source: &Arc<FeedSource>, stream: &UnixStream) -> Result<(), DisconnectReason> {
    stream.set_read_timeout(Some(MAX_SILENCE))?;
    stream.set_write_timeout(Some(MAX_SILENCE))?;
    let mut out = BufWriter::new(stream);
    let (hello, peer) = greet(source, &mut &*stream, &mut out)?;
    let attached = Attached::to(source, peer);
    let ears = listen(stream.try_clone()?, &attached)?;
    let mut talk = FollowerSession::new(attached, out, ears, hello.cursor);
    loop {
        talk.run_once()?;
    }
}

/// Reads the greeting. Sends the reason if the follower cannot be served.
pub(super) fn greet(
    source: &FeedSource,
    input: &mut impl Read,
    out: &mut impl Write,
) -> Result<(Hello, Arc<Peer>), DisconnectReason> {
    let greeted = read_greeting(source, input);
    if let Err(DisconnectReason::Dismissed(ending)) = &greeted {
        out.write_all(&Response::End(ending.clone()).encode())?;
        out.flush()?;
    }
    greeted
}

fn read_greeting(source: &FeedSource, input: &mut impl Read) -> Result<(Hello, Arc<Peer>), DisconnectReason> {
    let Some((kind, body)) = read_frame(input, GREATEST_UP)? else { return Err(DisconnectReason::Closed) };
    let hello = match Request::decode(kind, &body) {
        Ok(Request::Hello(hello)) => hello,
        Ok(_) => return Err(WireError::NoGreeting.into()),
        Err(error @ WireError::Version { .. }) => {
            return Err(DisconnectReason::Dismissed(Ending::Refused(error.to_string())));
        }
        Err(error) => return Err(error.into()),
    };
    if hello.identity != source.identity {
        let why = format!("it runs {}, the follower {}", source.identity, hello.identity);
        return Err(DisconnectReason::Dismissed(Ending::Refused(why)));
    }
    let peer = Peer {
        name: hello.name.clone(),
        since: source.clock.now().monotonic,
        next: AtomicU64::new(0),
        report: parking_lot::Mutex::default(),
    };
    Ok((hello, Arc::new(peer)))
}

/// Phase of a connection.
enum Stage {
    Greeted(Cursor),
    /// The follower is behind: it needs the append with this sequence number next.
    Behind(u64),
    Live,
}

/// The sequencer's side of a connection.
pub(super) struct FollowerSession<W> {
    source: Arc<FeedSource>,
    out: W,
    ears: Arc<RequestReader>,
    stage: Stage,
    /// Number of the next frame; `None` before the welcome.
    number: Option<u32>,
    /// The last status that was sent, and the time at which it was checked.
    said: Option<(SequencerReport, Duration)>,
    /// Time of the last heartbeat.
    pulsed: Duration,
    /// Position in the log of the next frame.
    at: u64,
    /// State of the log at the last read.
    seen: LogStatus,
    attached: Attached,
}

impl<W: Write> FollowerSession<W> {
    pub fn new(attached: Attached, out: W, ears: Arc<RequestReader>, cursor: Cursor) -> Self {
        let source = attached.source.clone();
        let (pulsed, seen) = (source.pace.now(), source.log.standing());
        let stage = Stage::Greeted(cursor);
        let (number, said) = (None, None);
        Self { source, out, ears, stage, number, said, pulsed, at: 0, seen, attached }
    }

    /// Returns `true` if the backlog has been sent and new events are sent as they happen.
    pub fn is_live(&self) -> bool {
        matches!(self.stage, Stage::Live)
    }

    /// Runs one iteration. Sends the reason if the follower is no longer served.
    pub fn run_once(&mut self) -> Result<(), DisconnectReason> {
        let done = self.go();
        if let Err(DisconnectReason::Dismissed(ending)) = &done {
            self.write(&Response::End(ending.clone()))?;
            self.out.flush()?;
        }
        done
    }

    fn go(&mut self) -> Result<(), DisconnectReason> {
        match self.stage {
            Stage::Greeted(cursor) => {
                let from = self.begin(cursor)?;
                self.write(&Response::Welcome(self.source.welcome.clone()))?;
                self.number = Some(0);
                self.send_due()?;
                self.pulse(false)?;
                self.stage = Stage::Behind(from);
            }
            Stage::Behind(from) => self.catch_up(from)?,
            Stage::Live => self.go_on()?,
        }
        Ok(())
    }

    fn write(&mut self, down: &Response) -> Result<(), DisconnectReason> {
        self.put(&down.encode())
    }

    fn put(&mut self, frame: &[u8]) -> Result<(), DisconnectReason> {
        let Some(number) = self.number else { return Ok(self.out.write_all(frame)?) };
        self.number = Some(number.wrapping_add(1));
        Ok(write_numbered(&mut self.out, frame, number)?)
    }

    /// Returns the sequence number of the first append that the follower needs.
    fn begin(&self, cursor: Cursor) -> Result<u64, DisconnectReason> {
        let next = self.source.log.standing().next;
        let (sequence, hash) = match cursor {
            Cursor::From { sequence } if sequence <= next => return Ok(sequence),
            Cursor::After { sequence, hash } if sequence < next => (sequence, hash),
            // The follower's store has everything before this append.
            Cursor::From { sequence } => return Err(self.contradicted(sequence.saturating_sub(1), next)),
            Cursor::After { sequence, .. } => return Err(self.contradicted(sequence, next)),
        };
        let found = self.source.past.until(next).wholes(sequence)?.next().transpose()?;
        match found {
            Some(append) if append.sequence == sequence && append.hash == hash => {
                Ok(sequence + if mutant!("cursor-off-by-one") { 2 } else { 1 })
            }
            Some(append) if append.sequence == sequence => Err(self.contradicted(sequence, next)),
            _ => Err(DisconnectReason::Dismissed(Ending::CursorGone)),
        }
    }

    /// Handles a follower that has an append that the journal, which ends before `next`, does not have.
    /// Production stops, so that it does not contradict what was visible, unless a repair has discarded that
    /// append.
    fn contradicted(&self, sequence: u64, next: u64) -> DisconnectReason {
        let accepted = self.source.discarded.contains(&sequence);
        if !accepted && !mutant!("ignore-cursor") {
            let reason = format!(
                "follower {:?} has seen append {sequence}, and the journal, which ends before append {next}, does not have it: \
                 acknowledged appends are lost; stop the node, then bring back the journal or run `foreseal journal repair`",
                self.peer_name()
            );
            self.source.backend.end_for_lost_append(sequence, reason);
        }
        DisconnectReason::Dismissed(Ending::CursorGone)
    }

    fn peer_name(&self) -> &str {
        &self.attached.peer.name
    }

    /// Sends appends from the journal. Once few are left, sends them and the pool.
    fn catch_up(&mut self, from: u64) -> Result<(), DisconnectReason> {
        let next = self.source.log.standing().next;
        self.stage = if next.saturating_sub(from) <= self.source.pace.near {
            self.join(from)?;
            Stage::Live
        } else {
            let from = self.past(from, next)?;
            self.pulse(false)?;
            Stage::Behind(from)
        };
        Ok(())
    }

    /// Sends the appends from number `from` up to the one before `to` from the journal.
    fn past(&mut self, mut from: u64, to: u64) -> Result<u64, DisconnectReason> {
        for append in self.source.past.until(to).wholes(from)? {
            let append = append?;
            if append.sequence != from {
                return Err(DisconnectReason::Dismissed(Ending::CursorGone));
            }
            from += 1;
            self.write(&Response::Append(append))?;
            self.heard()?;
        }
        if from == to { Ok(from) } else { Err(DisconnectReason::Dismissed(Ending::CursorGone)) }
    }

    /// Sends the rest of the backlog and the whole pool as of one position in the log. From that position on
    /// the log has every event.
    fn join(&mut self, from: u64) -> Result<(), DisconnectReason> {
        let (pool, standing) = self.whole_pool();
        match self.source.log.appends(from, standing.next) {
            Some(frames) => frames.iter().try_for_each(|frame| self.put(frame))?,
            None => {
                self.past(from, standing.next)?;
            }
        }
        self.write(&Response::Pool(pool))?;
        (self.at, self.seen) = (standing.end, standing);
        self.pulse(false)
    }

    /// Returns the whole pool, encoded, and the log position to which it corresponds.
    fn whole_pool(&self) -> (Bytes, LogStatus) {
        let source = &self.source;
        let (event, standing) = source.pool.whole(|event| (event, source.log.standing()));
        // Encoded outside the pool's lock, for which steps wait.
        let bytes = to_vec(&event);
        (bytes.into(), standing)
    }

    /// Waits for events and sends them.
    fn go_on(&mut self) -> Result<(), DisconnectReason> {
        for answer in self.ears.due(self.at) {
            self.put(&answer)?;
        }
        self.out.flush()?;
        let (taken, standing) = self.source.log.read(self.at, self.seen, self.source.pace.wait);
        let before = std::mem::replace(&mut self.seen, standing);
        match taken {
            FrameRead::Frames(frames) => {
                frames.iter().try_for_each(|frame| self.put(frame))?;
                self.at += frames.len() as u64;
            }
            FrameRead::Nothing => {}
            FrameRead::FellBehind => return Err(DisconnectReason::Dismissed(Ending::FellBehind)),
            FrameRead::Closed => return Err(DisconnectReason::Dismissed(Ending::Stopping)),
        }
        let ticked = standing.ticks != before.ticks;
        if ticked || self.source.pace.since(self.pulsed) >= HEARTBEAT_INTERVAL {
            self.pulse(ticked)?;
        }
        self.send_due()?;
        self.heard()
    }

    fn heard(&self) -> Result<(), DisconnectReason> {
        if self.ears.are_gone() { Err(DisconnectReason::Closed) } else { Ok(()) }
    }

    fn pulse(&mut self, ticked: bool) -> Result<(), DisconnectReason> {
        let FeedSource { backend, log, .. } = &*self.source;
        let (age, next, latest) = (backend.age(), log.standing().next, backend.latest());
        self.write(&Response::Heartbeat(Heartbeat { ticked, age, next, latest }))?;
        self.pulsed = self.source.pace.now();
        Ok(self.out.flush()?)
    }

    /// Sends the sequencer's status if it has changed: at once after a change of phase, otherwise at most
    /// once per [`HEARTBEAT_INTERVAL`].
    fn send_due(&mut self) -> Result<(), DisconnectReason> {
        let backend = &self.source.backend;
        let phase = backend.phase();
        if let Some((said, when)) = &self.said
            && said.phase == phase
            && self.source.pace.since(*when) < HEARTBEAT_INTERVAL
        {
            return Ok(());
        }
        let said = SequencerReport { phase, ..backend.report() };
        if self.said.as_ref().is_none_or(|(before, _)| *before != said) {
            self.write(&Response::SequencerReport(said.clone()))?;
        }
        self.said = Some((said, self.source.pace.now()));
        Ok(())
    }
}
