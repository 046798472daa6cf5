//! One connection to a node, with its input buffer and pending writes.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::message::{Message, PONG};
use crate::target::frame;
use crate::{
    message::MessageReader,
    plan::{Plan, Transport},
    response::ResponseReader,
    response_check::check_response,
    target::Target,
};

const BUFFER: usize = 64 << 10;

/// Error from opening a connection.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the server does not open a WebSocket: {0}")]
    Refused(String),
}

/// Result of reading from a connection, with or without a request in flight.
#[derive(Debug)]
pub enum Outcome {
    /// More bytes are needed.
    Waiting,
    /// A result with a body of this many bytes.
    Result(usize),
    /// Bytes that are not a result, with the HTTP status if any (otherwise 0) and the start of the bytes.
    /// After a protocol error the connection closes, because the framing is lost.
    FailedResponse { status: u16, why: String, body: Vec<u8> },
    /// The server closed the connection before it sent any byte of a response.
    Ended,
}

enum Reader {
    Http(ResponseReader),
    WebSocket(MessageReader),
}

/// An open connection.
pub struct Connection {
    stream: TcpStream,
    reader: Reader,
    input: Vec<u8>,
    filled: usize,
    /// Index of the request that is being written, and the number of bytes already written.
    sending: Option<(usize, usize)>,
    /// Pong frames to write after the request.
    control: Vec<u8>,
    open: bool,
    /// Error code with which every call must fail; `None` if every response must be a result.
    error_code: Option<i64>,
}

impl Connection {
    /// Connects within `patience`, and upgrades to WebSocket if the plan requires it.
    pub fn open(plan: &Plan, patience: Duration) -> Result<Self, OpenError> {
        let Plan { target, transport, error_code, .. } = plan;
        let deadline = Instant::now() + patience;
        let mut stream = std::net::TcpStream::connect_timeout(&target.address, patience)?;
        stream.set_nodelay(true)?;
        let (mut reader, mut rest) = (Reader::Http(ResponseReader::default()), Vec::new());
        if *transport == Transport::WebSocket {
            rest = upgraded(&mut stream, target, deadline)?;
            reader = Reader::WebSocket(MessageReader::default());
        }
        stream.set_read_timeout(None)?;
        stream.set_nonblocking(true)?;
        let filled = rest.len();
        rest.resize(BUFFER.max(filled), 0);
        let stream = TcpStream::from_std(stream);
        let control = Vec::new();
        let error_code = *error_code;
        Ok(Self { stream, reader, input: rest, filled, sending: None, control, open: true, error_code })
    }

    /// Returns the stream to register with the poll.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Returns `true` if another request can be sent.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Starts to send request `number` of `requests`; writes as many bytes as the socket accepts.
    pub fn send(&mut self, number: usize, requests: &[Vec<u8>]) -> io::Result<()> {
        self.sending = Some((number, 0));
        self.flush(requests)
    }

    /// Writes the remaining bytes as far as the socket accepts them.
    pub fn flush(&mut self, requests: &[Vec<u8>]) -> io::Result<()> {
        while let Some((number, written)) = self.sending {
            let request = &requests[number];
            match self.stream.write(&request[written..]) {
                Ok(more) if written + more == request.len() => self.sending = None,
                Ok(more) => self.sending = Some((number, written + more)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        while !self.control.is_empty() {
            match self.stream.write(&self.control) {
                Ok(written) => drop(self.control.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads available bytes, up to the end of one response.
    ///
    /// Over HTTP, bytes without a request in flight are `FailedResponse`. `closed` means that the event also reported
    /// a closed read side: the end may follow the bytes of a short read.
    pub fn receive(&mut self, waits: bool, closed: bool) -> Outcome {
        loop {
            // The bytes read with the previous message may contain this one.
            match self.read_response(waits, false) {
                Outcome::Waiting => {}
                outcome => return outcome,
            }
            if self.filled == self.input.len() {
                let least = match &self.reader {
                    Reader::Http(reader) => reader.expected(),
                    Reader::WebSocket(_) => 0,
                };
                self.input.resize(least.max(2 * self.filled), 0);
            }
            let space = self.input.len() - self.filled;
            match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => return self.ended(waits),
                Ok(read) => {
                    self.filled += read;
                    let outcome = self.read_response(waits, false);
                    // A short read means that the socket is drained; new bytes cause a new event (epoll(7)).
                    if (read < space && !closed) || !matches!(outcome, Outcome::Waiting) {
                        return outcome;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Outcome::Waiting,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.filled == 0 => {
                    self.open = false;
                    return Outcome::Ended;
                }
                Err(error) => return self.failed_response(0, error.to_string()),
            }
        }
    }

    /// Passes every received message to `on_message` until the socket has no more bytes.
    ///
    /// # Errors
    ///
    /// Returns the reason if the connection ended.
    pub fn listen(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        loop {
            if let Reader::WebSocket(reader) = &mut self.reader {
                let mut at = 0;
                while let Some((message, end)) =
                    reader.read(&self.input[at..self.filled]).map_err(|bad| bad.to_string())?
                {
                    match message {
                        Message::Data(text) => on_message(text),
                        Message::Ping(payload) => self.control.extend(frame(PONG, payload)),
                        Message::Nothing => {}
                    }
                    at += end;
                }
                self.input.copy_within(at..self.filled, 0);
                self.filled -= at;
            }
            self.flush(&[]).map_err(|error| error.to_string())?;
            if self.filled == self.input.len() {
                self.input.resize(2 * self.filled, 0);
            }
            match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => return Err("the server ended the connection".to_owned()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn read_response(&mut self, waits: bool, ended: bool) -> Outcome {
        if matches!(self.reader, Reader::Http(_)) {
            self.read_http(waits, ended)
        } else {
            self.read_messages()
        }
    }

    fn read_http(&mut self, waits: bool, ended: bool) -> Outcome {
        let Reader::Http(reader) = &mut self.reader else { return Outcome::Waiting };
        if !waits && self.filled > 0 {
            return self.failed_response(0, "unexpected bytes".to_owned());
        }
        let data = &self.input[..self.filled];
        let answer = match reader.read(data, ended) {
            Ok(None) => return Outcome::Waiting,
            Ok(Some(answer)) if answer.end < data.len() => {
                return self
                    .failed_response(answer.status, crate::response::InvalidResponse::More.to_string());
            }
            Ok(Some(answer)) => answer,
            Err(bad) => return self.failed_response(0, bad.to_string()),
        };
        let body = reader.body(&answer, data);
        let outcome = match check_response(answer.status, body, self.error_code) {
            None => Outcome::Result(body.len()),
            Some(why) => {
                let body = body[..body.len().min(BUFFER)].to_vec();
                Outcome::FailedResponse { status: answer.status, why: why.to_owned(), body }
            }
        };
        reader.reset();
        self.filled = 0;
        self.open &= answer.keeps_alive;
        outcome
    }

    /// Returns the outcome of the first data message; later messages remain buffered for the next call.
    fn read_messages(&mut self) -> Outcome {
        let Reader::WebSocket(reader) = &mut self.reader else { return Outcome::Waiting };
        let mut at = 0;
        let mut outcome = Outcome::Waiting;
        while matches!(outcome, Outcome::Waiting) {
            match reader.read(&self.input[at..self.filled]) {
                Ok(None) => break,
                Ok(Some((message, end))) => {
                    match message {
                        Message::Data(text) => {
                            outcome = match check_response(200, text, self.error_code) {
                                None => Outcome::Result(text.len()),
                                Some(why) => {
                                    let body = text[..text.len().min(BUFFER)].to_vec();
                                    Outcome::FailedResponse { status: 0, why: why.to_owned(), body }
                                }
                            }
                        }
                        Message::Ping(payload) => self.control.extend(frame(PONG, payload)),
                        Message::Nothing => {}
                    }
                    at += end;
                }
                Err(bad) => return self.failed_response(0, bad.to_string()),
            }
        }
        self.input.copy_within(at..self.filled, 0);
        self.filled -= at;
        outcome
    }

    fn ended(&mut self, waits: bool) -> Outcome {
        self.open = false;
        if self.filled == 0 {
            return Outcome::Ended;
        }
        match self.read_response(waits, true) {
            Outcome::Waiting => self.failed_response(0, crate::response::InvalidResponse::Cut.to_string()),
            outcome => outcome,
        }
    }

    fn failed_response(&mut self, status: u16, why: String) -> Outcome {
        self.open = false;
        let body = self.input[..self.filled.min(BUFFER)].to_vec();
        self.filled = 0;
        Outcome::FailedResponse { status, why, body }
    }
}

/// Sends the WebSocket upgrade request and reads the response. Returns the bytes that follow it.
fn upgraded(
    stream: &mut std::net::TcpStream,
    target: &Target,
    deadline: Instant,
) -> Result<Vec<u8>, OpenError> {
    let refused =
        |data: &[u8]| OpenError::Refused(String::from_utf8_lossy(&data[..data.len().min(300)]).into_owned());
    stream.set_write_timeout(Some(left(deadline)?))?;
    stream.write_all(&target.opening())?;
    let (mut data, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let mut lines = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut lines);
        match response.parse(&data) {
            Ok(httparse::Status::Complete(end)) => {
                let accept = response
                    .headers
                    .iter()
                    .find(|line| line.name.eq_ignore_ascii_case("sec-websocket-accept"));
                let accepted = accept.is_some_and(|line| line.value == Target::accept().as_bytes());
                if response.code != Some(101) || !accepted {
                    return Err(refused(&data));
                }
                return Ok(data.split_off(end));
            }
            Ok(httparse::Status::Partial) if data.len() <= BUFFER => {}
            _ => return Err(refused(&data)),
        }
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut piece)? {
            0 => return Err(refused(&data)),
            read => data.extend_from_slice(&piece[..read]),
        }
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
