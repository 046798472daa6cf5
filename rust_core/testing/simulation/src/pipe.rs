//! One direction of a simulated socket: a buffer of written bytes, some of which have arrived.

use std::{
    cell::RefCell,
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    rc::Rc,
};

use foreseal_replication::wire::{MAX_RESPONSE_SIZE, WireError, read_frame};

/// Size of the length prefix of a frame, in bytes.
const LENGTH: usize = 4;
/// Number of bytes in flight above which a writer must wait.
const FULL: usize = 16 << 10;

/// State of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The stream ends after the written bytes.
    Closed,
    /// The stream ends after the written bytes, with an error.
    Reset,
}

/// Tampering with frames in flight, which no real socket does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    Twice,
    Swap,
    Lose,
}

struct PipeDirection {
    /// Bytes written and not read.
    bytes: VecDeque<u8>,
    /// Number of them that have arrived and can be read.
    arrived: usize,
    state: State,
    /// Nothing more arrives, and neither side is notified.
    silent: bool,
    /// A wait on the silent stream has timed out.
    timed_out: bool,
    mangled: bool,
    /// State of the random generator for the sizes of reads and writes.
    dice: u64,
    /// All bytes ever written.
    record: Vec<u8>,
}

/// Handle of both ends of a direction.
#[derive(Clone)]
pub struct Pipe(Rc<RefCell<PipeDirection>>);

/// Readiness of the reading end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Reading a frame would block.
    Not,
    /// A frame, the end of the stream or an error can be read.
    Yes,
}

/// Reader of the bytes that have arrived, which would block after them unless the stream ends there.
struct Probe<'p> {
    rest: &'p [u8],
    end: Option<State>,
}

impl Read for Probe<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() && !out.is_empty() {
            return match self.end {
                Some(State::Closed) => Ok(0),
                Some(_) => Err(ErrorKind::ConnectionReset.into()),
                None => Err(ErrorKind::WouldBlock.into()),
            };
        }
        self.rest.read(out)
    }
}

impl Pipe {
    pub fn new(dice: u64) -> Self {
        Self(Rc::new(RefCell::new(PipeDirection {
            bytes: VecDeque::new(),
            arrived: 0,
            state: State::Open,
            silent: false,
            timed_out: false,
            mangled: false,
            dice,
            record: Vec::new(),
        })))
    }

    /// Returns the number of bytes in flight.
    pub fn in_flight(&self) -> usize {
        let pipe = self.0.borrow();
        pipe.bytes.len() - pipe.arrived
    }

    /// Returns `true` if a writer must wait. Bytes that have arrived do not count, even if they are part of a
    /// frame.
    pub fn is_full(&self) -> bool {
        self.in_flight() > FULL
    }

    /// Delivers `count` more bytes, unless the stream is silent.
    pub fn arrive(&self, count: usize) {
        let mut pipe = self.0.borrow_mut();
        if !pipe.silent {
            pipe.arrived = pipe.bytes.len().min(pipe.arrived.saturating_add(count));
        }
    }

    /// Closes an open stream: one side hung up or its process ended. The bytes in flight still arrive.
    pub fn close(&self) {
        let mut pipe = self.0.borrow_mut();
        if pipe.state == State::Open {
            pipe.state = State::Closed;
        }
    }

    /// Breaks the stream after `retained` of the bytes in flight. Returns `true` if that is in the middle of a
    /// frame.
    pub fn cut(&self, retained: usize, reset: bool) -> bool {
        let mut pipe = self.0.borrow_mut();
        let end = pipe.bytes.len().min(pipe.arrived.saturating_add(retained));
        pipe.bytes.truncate(end);
        pipe.state = if reset { State::Reset } else { State::Closed };
        pipe.silent = false;
        frames(pipe.bytes.make_contiguous()).last().map_or(0, |&(_, end)| end) != pipe.bytes.len()
    }

    /// Stops the delivery of bytes.
    pub fn fall_silent(&self) {
        self.0.borrow_mut().silent = true;
    }

    /// Lets a wait on the stream time out if the stream is silent.
    pub fn time_out(&self) {
        let mut pipe = self.0.borrow_mut();
        pipe.timed_out |= pipe.silent;
    }

    /// Tampers with complete frames of which no byte has arrived. Returns `true` if there were enough of
    /// them.
    pub fn mangle(&self, how: FrameFault, chance: u64) -> bool {
        let mut pipe = self.0.borrow_mut();
        let complete: Vec<_> = frames(pipe.bytes.make_contiguous())
            .into_iter()
            .filter(|&(start, _)| start >= pipe.arrived)
            .collect();
        // A swap needs a second frame.
        let wanted = if how == FrameFault::Swap { 2 } else { 1 };
        let Some(choices) = complete.len().checked_sub(wanted - 1).filter(|choices| *choices > 0) else {
            return false;
        };
        let at = usize::try_from(chance % choices as u64).unwrap_or(0);
        let (start, end) = complete[at];
        let mut bytes = Vec::from(std::mem::take(&mut pipe.bytes));
        let frame = bytes[start..end].to_vec();
        match how {
            FrameFault::Twice => drop(bytes.splice(end..end, frame)),
            FrameFault::Lose => drop(bytes.drain(start..end)),
            FrameFault::Swap => {
                let (_, second) = complete[at + 1];
                drop(bytes.splice(second..second, frame));
                drop(bytes.drain(start..end));
            }
        }
        pipe.bytes = bytes.into();
        pipe.mangled = true;
        true
    }

    /// Returns all bytes ever written.
    pub fn record(&self) -> Vec<u8> {
        self.0.borrow().record.clone()
    }

    /// Returns a pipe in which these bytes have arrived and after which the stream ends.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let pipe = Self::new(bytes.len() as u64);
        pipe.0.borrow_mut().bytes = bytes.to_vec().into();
        pipe.arrive(bytes.len());
        pipe.close();
        pipe
    }

    pub fn is_timed_out(&self) -> bool {
        self.0.borrow().timed_out
    }

    pub fn is_mangled(&self) -> bool {
        self.0.borrow().mangled
    }

    /// Returns the readiness for a reader of frames.
    pub fn ready(&self) -> Ready {
        let mut pipe = self.0.borrow_mut();
        let (arrived, timed_out) = (pipe.arrived, pipe.timed_out);
        let end = (arrived == pipe.bytes.len() && pipe.state != State::Open).then_some(pipe.state);
        let mut probe = Probe { rest: &pipe.bytes.make_contiguous()[..arrived], end };
        match read_frame(&mut probe, MAX_RESPONSE_SIZE) {
            Err(WireError::Io(error)) if error.kind() == ErrorKind::WouldBlock && !timed_out => Ready::Not,
            _ => Ready::Yes,
        }
    }
}

/// Returns the start and end of each complete frame in `bytes`; the first starts at 0.
pub fn frames(bytes: &[u8]) -> Vec<(usize, usize)> {
    let (mut ranges, mut at) = (Vec::new(), 0);
    while let Some(length) = bytes[at..].first_chunk::<LENGTH>() {
        let end = at + LENGTH + usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if end > bytes.len() {
            break;
        }
        ranges.push((at, end));
        at = end;
    }
    ranges
}

impl PipeDirection {
    /// Draws a number from 1 to `most`, small ones more often.
    fn chunk_size(&mut self, most: usize) -> usize {
        self.dice = self.dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let draw = usize::try_from(self.dice >> 40).unwrap_or(0);
        let most = if draw.is_multiple_of(3) { most.min(5) } else { most };
        1 + (draw >> 2) % most
    }
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.0.borrow_mut();
        if out.is_empty() {
            return Ok(0);
        }
        if pipe.arrived == 0 {
            return match pipe.state {
                State::Closed if pipe.bytes.is_empty() => Ok(0),
                State::Reset if pipe.bytes.is_empty() => Err(ErrorKind::ConnectionReset.into()),
                _ => Err(ErrorKind::WouldBlock.into()),
            };
        }
        let most = out.len().min(pipe.arrived);
        let count = pipe.chunk_size(most);
        if count == 3 {
            return Err(ErrorKind::Interrupted.into());
        }
        for (to, from) in out.iter_mut().zip(pipe.bytes.drain(..count)) {
            *to = from;
        }
        pipe.arrived -= count;
        Ok(count)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pipe = self.0.borrow_mut();
        if pipe.state != State::Open {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if bytes.is_empty() {
            return Ok(0);
        }
        let count = pipe.chunk_size(bytes.len());
        pipe.bytes.extend(&bytes[..count]);
        pipe.record.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
