//! A ring of the newest frames for all followers, in the order of the events.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_journal::RawAppend;
use foreseal_pool::{PoolEvent, PoolEventSink};
use foreseal_primitives::wire::to_vec;
use parking_lot::{Condvar, Mutex};

use crate::wire::Response;

/// Limits of the ring.
#[derive(Clone, Copy, Debug)]
pub struct RingLimits {
    pub bytes: usize,
    pub frames: usize,
}

impl Default for RingLimits {
    fn default() -> Self {
        Self { bytes: 32 << 20, frames: 32_768 }
    }
}

/// Maximum bytes per read; a larger frame is read alone.
const MAX_READ_SIZE: usize = 1 << 20;

/// A log of frames, limited in bytes and count; the oldest are evicted.
///
/// A position in the log is the number of frames ever added before.
#[derive(Debug)]
pub struct FrameLog {
    ring: Mutex<Ring>,
    grown: Condvar,
    room: RingLimits,
}

#[derive(Debug)]
struct Ring {
    frames: VecDeque<Framed>,
    /// Position of the first retained frame.
    first: u64,
    bytes: usize,
    /// Sequence number of the next append.
    next: u64,
    /// Number of ticks so far.
    ticks: u64,
    /// Number of wake-ups for other reasons.
    wakes: u64,
    /// Number of connections that read the log; without any, no frame is retained.
    readers: usize,
    closed: bool,
}

#[derive(Clone, Debug)]
struct Framed {
    bytes: Arc<[u8]>,
    /// Sequence number and hash of the append, if it is one.
    append: Option<(u64, B256)>,
}

/// Result of a read at a position.
#[derive(Debug)]
pub(super) enum FrameRead {
    Frames(Vec<Arc<[u8]>>),
    /// Nothing new yet.
    Nothing,
    /// The next frame has been evicted.
    FellBehind,
    /// The log is closed.
    Closed,
}

/// State of the log at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogStatus {
    /// Position of the next frame.
    pub end: u64,
    /// Sequence number of the next append.
    pub next: u64,
    pub ticks: u64,
    pub wakes: u64,
}

impl FrameLog {
    /// Returns an empty log for the appends from number `next` on.
    pub fn new(next: u64, room: RingLimits) -> Self {
        let frames = VecDeque::new();
        let ring = Ring { frames, first: 0, bytes: 0, next, ticks: 0, wakes: 0, readers: 0, closed: false };
        Self { ring: Mutex::new(ring), grown: Condvar::new(), room }
    }

    /// Adds an append that is durable and published.
    pub fn append(&self, append: RawAppend) {
        let (sequence, hash) = (append.sequence, append.hash);
        let mut ring = self.ring.lock();
        ring.next = sequence + 1;
        // Without followers the bytes are not even copied.
        if ring.readers > 0 {
            let bytes = Response::Append(append).encode().into();
            ring.push(Framed { bytes, append: Some((sequence, hash)) }, self.room);
        }
        drop(ring);
        self.grown.notify_all();
    }

    /// Counts a tick of the sequencer.
    pub fn tick(&self) {
        self.ring.lock().ticks += 1;
        self.grown.notify_all();
    }

    /// Wakes the readers for an event that is not in the log.
    pub fn wake(&self) {
        self.ring.lock().wakes += 1;
        self.grown.notify_all();
    }

    /// Closes the log.
    pub(super) fn close(&self) {
        self.ring.lock().closed = true;
        self.grown.notify_all();
    }

    /// Returns `true` once the server stops.
    pub(super) fn is_closed(&self) -> bool {
        self.ring.lock().closed
    }

    /// Registers a reader.
    pub(super) fn attach(&self) {
        self.ring.lock().readers += 1;
    }

    pub(super) fn detach(&self) {
        let mut ring = self.ring.lock();
        ring.readers -= 1;
        if ring.readers == 0 {
            ring.clear();
        }
    }

    /// Returns the size of the frames in bytes.
    pub fn bytes(&self) -> usize {
        self.ring.lock().bytes
    }

    /// Returns the maximum size of the frames in bytes; a larger frame is the only one.
    pub fn capacity(&self) -> usize {
        self.room.bytes
    }

    /// Returns the current state of the log.
    pub fn status(&self) -> LogStatus {
        self.ring.lock().status()
    }

    /// Returns the frames of the appends from number `from` up to the one before `to`, if all of them are
    /// retained.
    pub(super) fn appends(&self, from: u64, to: u64) -> Option<Vec<Arc<[u8]>>> {
        let ring = self.ring.lock();
        let wanted =
            |frame: &&Framed| frame.append.is_some_and(|(sequence, _)| (from..to).contains(&sequence));
        let frames: Vec<_> = ring.frames.iter().filter(wanted).map(|frame| frame.bytes.clone()).collect();
        (frames.len() as u64 == to.saturating_sub(from)).then_some(frames)
    }

    /// Returns the frames from position `at` on, as many as fit into one write. Blocks for at most `wait`
    /// until there is one, or until there are more ticks or wake-ups than at `seen`.
    pub(super) fn read(&self, at: u64, seen: LogStatus, wait: Duration) -> (FrameRead, LogStatus) {
        let mut ring = self.ring.lock();
        let same = ring.ticks == seen.ticks && ring.wakes == seen.wakes;
        if ring.end() <= at && same && !ring.closed {
            self.grown.wait_for(&mut ring, wait);
        }
        (ring.read_at(at), ring.status())
    }
}

impl PoolEventSink for FrameLog {
    fn event(&self, event: &PoolEvent) {
        let bytes = to_vec(event);
        let bytes = Response::Pool(bytes.into()).encode().into();
        self.ring.lock().push(Framed { bytes, append: None }, self.room);
        self.grown.notify_all();
    }
}

impl Ring {
    fn end(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    fn status(&self) -> LogStatus {
        LogStatus { end: self.end(), next: self.next, ticks: self.ticks, wakes: self.wakes }
    }

    fn clear(&mut self) {
        self.first = self.end();
        self.frames.clear();
        self.bytes = 0;
    }

    fn push(&mut self, frame: Framed, room: RingLimits) {
        self.bytes += frame.bytes.len();
        self.frames.push_back(frame);
        // The newest frame stays however large it is: its readers would never receive it otherwise.
        while self.frames.len() > room.frames || self.bytes > room.bytes && self.frames.len() > 1 {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.first += 1;
            self.bytes -= oldest.bytes.len();
        }
    }

    fn read_at(&self, at: u64) -> FrameRead {
        let Some(skip) = at.checked_sub(self.first) else { return FrameRead::FellBehind };
        let mut bytes = 0;
        let fits = |frame: &&Framed| {
            let first = bytes == 0;
            bytes += frame.bytes.len();
            first || bytes <= MAX_READ_SIZE
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let frames: Vec<_> =
            self.frames.iter().skip(skip).take_while(fits).map(|frame| frame.bytes.clone()).collect();
        match frames.is_empty() {
            false => FrameRead::Frames(frames),
            true if self.closed => FrameRead::Closed,
            true => FrameRead::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use foreseal_pool::{Pool, PoolConfig};

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn append(sequence: u64) -> RawAppend {
        RawAppend::new(sequence, 1, vec![0; 100])
    }

    fn new_log(frames: usize) -> FrameLog {
        let log = FrameLog::new(5, RingLimits { frames, ..RingLimits::default() });
        log.attach();
        log
    }

    fn count(read: &FrameRead) -> usize {
        match read {
            FrameRead::Frames(frames) => frames.len(),
            _ => 0,
        }
    }

    #[test]
    fn a_reader_slower_than_the_ring_falls_behind() {
        let log = new_log(4);
        let begun = log.status();
        (5..9).for_each(|sequence| log.append(append(sequence)));
        assert_eq!(count(&log.read(begun.end, begun, LONG).0), 4);
        assert_eq!(log.appends(5, 9).unwrap().len(), 4);
        log.append(append(9));
        assert!(matches!(log.read(begun.end, begun, LONG).0, FrameRead::FellBehind));
        assert!(log.appends(5, 10).is_none() && log.appends(6, 10).is_some());
        assert_eq!((log.status().end, log.status().next), (begun.end + 5, 10));
    }

    #[test]
    fn a_ring_has_a_bound_in_bytes() {
        let log = FrameLog::new(0, RingLimits { bytes: 1_000, frames: 1_000 });
        log.attach();
        (0..50).for_each(|sequence| log.append(append(sequence)));
        let begun = {
            let ring = log.ring.lock();
            assert!(ring.bytes <= 1_000 && ring.frames.len() > 3);
            ring.status()
        };
        log.append(RawAppend::new(50, 1, vec![0; 5_000]));
        assert_eq!(count(&log.read(begun.end, begun, LONG).0), 1, "a frame above the bound is the only one");
        log.append(append(51));
        assert!(log.ring.lock().bytes <= 1_000);
    }

    #[test]
    fn without_followers_no_frame_is_stored_but_positions_advance() {
        let log = FrameLog::new(5, RingLimits::default());
        log.append(append(5));
        log.attach();
        let begun = log.status();
        assert_eq!(begun.next, 6);
        log.append(append(6));
        log.detach();
        {
            let ring = log.ring.lock();
            assert_eq!((ring.frames.len(), ring.bytes), (0, 0));
        }
        log.attach();
        assert!(log.status().end > begun.end);
    }

    #[test]
    fn a_waiting_reader_wakes_on_frame_tick_message_and_end() {
        let log = Arc::new(new_log(9));
        let wakes: [fn(&FrameLog); 5] = [
            |log| log.append(append(5)),
            FrameLog::tick,
            FrameLog::wake,
            |log| Pool::new(PoolConfig::default()).whole_pool_event(|event| log.event(&event)),
            FrameLog::close,
        ];
        for wake in wakes {
            let seen = log.status();
            let (woken, hear) = mpsc::channel();
            let other = log.clone();
            std::thread::spawn(move || woken.send(other.read(seen.end, seen, LONG)).unwrap());
            wake(&log);
            hear.recv_timeout(LONG).expect("it is woken");
            // An event between reading the state and waiting does not block.
            log.read(seen.end, seen, LONG);
        }
        let seen = log.status();
        assert!(matches!(log.read(seen.end, seen, LONG).0, FrameRead::Closed));
    }
}
