//! A connection to one follower: the backlog from the journal, the whole pool, then live events.

use std::{
    io::{BufWriter, Read, Write},
    os::unix::net::UnixStream,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use alloy_primitives::Bytes;
use foreseal_primitives::wire::to_vec;

use super::{
    ConnectionOrigin, FeedConfig, FeedSource,
    directory_copy_session::serve_directory_copy,
    disconnect_reason::{DisconnectReason, dismissing},
    feed_source::Registration,
    frame_log::{FrameRead, LogStatus},
    peers::Peer,
    request_reader::{RequestReader, listen},
};
use crate::wire::{
    Cursor, Ending, FollowerRole, HEARTBEAT_INTERVAL, Heartbeat, MAX_GREETING_SIZE, MAX_SILENCE, Request,
    Response, SequencerReport, WireError, read_frame, write_numbered,
};

/// Maximum size of a text of the greeting, in bytes.
const MAX_TEXT_SIZE: usize = 128;

/// Serves a follower until it disconnects.
pub(super) fn serve(
    source: &Arc<FeedSource>,
    stream: &UnixStream,
    origin: ConnectionOrigin,
) -> Result<(), DisconnectReason> {
    stream.set_read_timeout(Some(MAX_SILENCE))?;
    stream.set_write_timeout(Some(MAX_SILENCE))?;
    let mut out = BufWriter::new(stream);
    let first = dismissing(read_first(&mut &*stream), &mut out)?;
    if let Request::DirectoryCopy { identity } = first {
        return serve_directory_copy(source, identity, stream);
    }
    let peer = dismissing(admit(source, first, origin), &mut out)?;
    let registration = Registration::new(source, peer);
    let requests = listen(stream.try_clone()?, &registration)?;
    let mut session = FollowerSession::new(registration, out, requests);
    loop {
        session.run_once()?;
    }
}

/// Reads the first frame of a connection.
pub(super) fn read_first(input: &mut impl Read) -> Result<Request, DisconnectReason> {
    let Some((kind, body)) = read_frame(input, MAX_GREETING_SIZE)? else {
        return Err(DisconnectReason::Closed);
    };
    match Request::decode(kind, &body) {
        Err(error @ WireError::Version { .. }) => {
            Err(DisconnectReason::Dismissed(Ending::Refused(error.to_string())))
        }
        other => Ok(other?),
    }
}

/// Returns the follower whose greeting is the first frame, unless it cannot be served.
pub(super) fn admit(
    source: &FeedSource,
    first: Request,
    origin: ConnectionOrigin,
) -> Result<Arc<Peer>, DisconnectReason> {
    let Request::Hello(hello) = first else { return Err(WireError::NoGreeting.into()) };
    if hello.identity != source.config.identity {
        let why =
            format!("the sequencer has chain {}, the follower {}", source.config.identity, hello.identity);
        return Err(DisconnectReason::Dismissed(Ending::Refused(why)));
    }
    let refused = |why: &str| Err(DisconnectReason::Dismissed(Ending::Refused(why.to_owned())));
    if origin == ConnectionOrigin::Network && hello.role == FollowerRole::Worker {
        return refused("a worker follows the Unix socket of its sequencer");
    }
    if [&hello.name, &hello.version, &hello.rpc].iter().any(|text| !is_short_text(text)) {
        return refused("name, version and address must have at most 128 printable characters");
    }
    Ok(Arc::new(Peer {
        origin,
        hello,
        since: source.config.clock.now().monotonic,
        next: AtomicU64::new(0),
        report: parking_lot::Mutex::default(),
    }))
}

/// Returns `true` for a text that a status may show.
fn is_short_text(text: &str) -> bool {
    text.len() <= MAX_TEXT_SIZE && !text.chars().any(char::is_control)
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
    requests: Arc<RequestReader>,
    stage: Stage,
    /// Number of the next frame; `None` before the welcome.
    number: Option<u32>,
    /// The last status that was sent, and the time at which it was checked.
    last_report: Option<(SequencerReport, Duration)>,
    /// Time of the last heartbeat.
    last_heartbeat: Duration,
    /// Position in the log of the next frame.
    at: u64,
    /// State of the log at the last read.
    seen: LogStatus,
    registration: Registration,
}

impl<W: Write> FollowerSession<W> {
    pub fn new(registration: Registration, out: W, requests: Arc<RequestReader>) -> Self {
        let source = registration.source.clone();
        let (last_heartbeat, seen) = (source.config.pace.now(), source.config.log.status());
        let stage = Stage::Greeted(registration.peer.hello.cursor);
        let (number, last_report) = (None, None);
        Self { source, out, requests, stage, number, last_report, last_heartbeat, at: 0, seen, registration }
    }

    /// Returns `true` if the backlog has been sent and new events are sent as they happen.
    #[cfg(feature = "simulation")]
    pub fn is_live(&self) -> bool {
        matches!(self.stage, Stage::Live)
    }

    /// Runs one iteration. Sends the reason if the follower is no longer served.
    pub fn run_once(&mut self) -> Result<(), DisconnectReason> {
        let done = self.advance();
        if let Err(DisconnectReason::Dismissed(ending)) = &done {
            self.write(&Response::End(ending.clone()))?;
            self.out.flush()?;
        }
        done
    }

    fn advance(&mut self) -> Result<(), DisconnectReason> {
        match self.stage {
            Stage::Greeted(cursor) => {
                let from = self.first_sequence(cursor)?;
                self.write(&Response::Welcome(self.source.config.backend.welcome()))?;
                self.number = Some(0);
                self.send_report()?;
                self.send_heartbeat(false)?;
                self.stage = Stage::Behind(from);
            }
            Stage::Behind(from) => self.catch_up(from)?,
            Stage::Live => self.send_live()?,
        }
        Ok(())
    }

    fn write(&mut self, response: &Response) -> Result<(), DisconnectReason> {
        self.write_frame(&response.encode())
    }

    fn write_frame(&mut self, frame: &[u8]) -> Result<(), DisconnectReason> {
        let Some(number) = self.number else { return Ok(self.out.write_all(frame)?) };
        self.number = Some(number.wrapping_add(1));
        Ok(write_numbered(&mut self.out, frame, number)?)
    }

    /// Returns the sequence number of the first append that the follower needs.
    fn first_sequence(&self, cursor: Cursor) -> Result<u64, DisconnectReason> {
        let next = self.source.config.log.status().next;
        let (sequence, hash) = match cursor {
            Cursor::From { sequence } if sequence <= next => return Ok(sequence),
            Cursor::After { sequence, hash } if sequence < next => (sequence, hash),
            // The follower's store has everything before this append.
            Cursor::From { sequence } => return Err(self.contradicted(sequence.saturating_sub(1), next)),
            Cursor::After { sequence, .. } => return Err(self.contradicted(sequence, next)),
        };
        let append =
            self.source.config.journal_reader.up_to(next).raw_appends(sequence)?.next().transpose()?;
        match append {
            Some(append) if append.sequence == sequence && append.hash == hash => Ok(sequence + 1),
            Some(append) if append.sequence == sequence => Err(self.contradicted(sequence, next)),
            _ => Err(DisconnectReason::Dismissed(Ending::CursorGone)),
        }
    }

    /// Handles a follower that has an append that the journal, which ends before `next`, does not have.
    /// Production stops, so that it does not contradict what was visible, unless a repair has discarded that
    /// append.
    fn contradicted(&self, sequence: u64, next: u64) -> DisconnectReason {
        let accepted = self.source.config.discarded.contains(&sequence);
        if self.registration.peer.origin == ConnectionOrigin::Network {
            // The follower connects again and again.
            if let Some(repeated) = self.source.contradictions.log(self.source.config.pace.now()) {
                let name = self.peer_name();
                tracing::error!(
                    name,
                    sequence,
                    next,
                    repeated,
                    "a node on another machine has an append that is not here"
                );
            }
        } else if !accepted {
            let reason = format!(
                "follower {:?} has seen append {sequence}, and the journal, which ends before append {next}, does not have it: \
                 acknowledged appends are lost; stop the node, then bring back the journal or run `foreseal journal repair`",
                self.peer_name()
            );
            self.source.config.backend.end_for_lost_append(sequence, reason);
        }
        DisconnectReason::Dismissed(Ending::CursorGone)
    }

    fn peer_name(&self) -> &str {
        self.registration.peer.name()
    }

    /// Sends appends from the journal. Once few are left, sends them and the pool.
    fn catch_up(&mut self, from: u64) -> Result<(), DisconnectReason> {
        let next = self.source.config.log.status().next;
        self.stage = if next.saturating_sub(from) <= self.source.config.pace.near {
            self.finish_backlog(from)?;
            Stage::Live
        } else {
            let from = self.send_backlog(from, next)?;
            self.send_heartbeat(false)?;
            Stage::Behind(from)
        };
        Ok(())
    }

    /// Sends the appends from number `from` up to the one before `to` from the journal.
    fn send_backlog(&mut self, mut from: u64, to: u64) -> Result<u64, DisconnectReason> {
        self.send_owner()?;
        for append in self.source.config.journal_reader.up_to(to).raw_appends(from)? {
            let append = append?;
            if append.sequence != from {
                return Err(DisconnectReason::Dismissed(Ending::CursorGone));
            }
            from += 1;
            self.write(&Response::Append(append))?;
            self.check_open()?;
        }
        if from == to { Ok(from) } else { Err(DisconnectReason::Dismissed(Ending::CursorGone)) }
    }

    /// Sends the rest of the backlog and the whole pool as of one position in the log. From that position on
    /// the log has every event.
    fn finish_backlog(&mut self, from: u64) -> Result<(), DisconnectReason> {
        let (pool, status) = self.whole_pool();
        self.send_owner()?;
        match self.source.config.log.appends(from, status.next) {
            Some(frames) => frames.iter().try_for_each(|frame| self.write_frame(frame))?,
            None => {
                self.send_backlog(from, status.next)?;
            }
        }
        self.write(&Response::Pool(pool))?;
        (self.at, self.seen) = (status.end, status);
        self.send_heartbeat(false)
    }

    /// Returns the whole pool, encoded, and the log position to which it corresponds.
    fn whole_pool(&self) -> (Bytes, LogStatus) {
        let source = &self.source;
        let (event, status) =
            source.config.pool.whole_pool_event(|event| (event, source.config.log.status()));
        // Encoded outside the pool's lock, for which steps wait.
        let bytes = to_vec(&event);
        (bytes.into(), status)
    }

    /// Waits for events and sends them.
    fn send_live(&mut self) -> Result<(), DisconnectReason> {
        for answer in self.requests.due(self.at) {
            self.write_frame(&answer)?;
        }
        self.out.flush()?;
        let (taken, status) = self.source.config.log.read(self.at, self.seen, self.max_wait());
        let before = std::mem::replace(&mut self.seen, status);
        match taken {
            FrameRead::Frames(frames) => {
                // Followers learn of an owner before they receive what it wrote.
                self.send_owner()?;
                frames.iter().try_for_each(|frame| self.write_frame(frame))?;
                self.at += frames.len() as u64;
            }
            FrameRead::Nothing => {}
            FrameRead::FellBehind => return Err(DisconnectReason::Dismissed(Ending::FellBehind)),
            FrameRead::Closed => return Err(DisconnectReason::Dismissed(Ending::Stopping)),
        }
        let ticked = status.ticks != before.ticks;
        if ticked || self.source.config.pace.since(self.last_heartbeat) >= HEARTBEAT_INTERVAL {
            self.send_heartbeat(ticked)?;
        }
        self.send_report()?;
        self.check_open()
    }

    /// Returns the time until a heartbeat is due.
    fn max_wait(&self) -> Duration {
        let pace = &self.source.config.pace;
        pace.wait.min(HEARTBEAT_INTERVAL.saturating_sub(pace.since(self.last_heartbeat)))
    }

    fn check_open(&self) -> Result<(), DisconnectReason> {
        if self.requests.is_closed() { Err(DisconnectReason::Closed) } else { Ok(()) }
    }

    fn send_heartbeat(&mut self, ticked: bool) -> Result<(), DisconnectReason> {
        let FeedConfig { backend, log, .. } = &self.source.config;
        let (age, next, latest) = (backend.age(), log.status().next, backend.latest());
        self.write(&Response::Heartbeat(Heartbeat { ticked, age, next, latest }))?;
        self.last_heartbeat = self.source.config.pace.now();
        Ok(self.out.flush()?)
    }

    /// Sends the sequencer's status if the chain has another owner.
    fn send_owner(&mut self) -> Result<(), DisconnectReason> {
        let backend = &self.source.config.backend;
        let before =
            self.last_report.as_ref().map(|(report, _)| report.owner.as_ref().map(|owner| owner.epoch));
        if before == Some(backend.owner_epoch()) {
            return Ok(());
        }
        let report = backend.report();
        self.write(&Response::SequencerReport(report.clone()))?;
        self.last_report = Some((report, self.source.config.pace.now()));
        Ok(())
    }

    /// Sends the sequencer's status if it has changed: at once after a change of phase, otherwise at most
    /// once per [`HEARTBEAT_INTERVAL`].
    fn send_report(&mut self) -> Result<(), DisconnectReason> {
        let backend = &self.source.config.backend;
        let phase = backend.phase();
        if let Some((report, when)) = &self.last_report
            && report.phase == phase
            && self.source.config.pace.since(*when) < HEARTBEAT_INTERVAL
        {
            return Ok(());
        }
        let report = SequencerReport { phase, ..backend.report() };
        if self.last_report.as_ref().is_none_or(|(before, _)| *before != report) {
            self.write(&Response::SequencerReport(report.clone()))?;
        }
        self.last_report = Some((report, self.source.config.pace.now()));
        Ok(())
    }
}
