//! Server with a constant response. A run against it measures the limit of the generator itself.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::thread::JoinHandle;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::target::accept_key;

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);
const BODY: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":"0x834"}"#;
/// Maximum size of a request in bytes.
const LARGEST: usize = 1 << 20;

/// A running server. It has its own thread until it is dropped.
pub struct Responder {
    address: SocketAddr,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    /// Starts a server on a free port of the loopback address.
    pub fn start() -> io::Result<Self> {
        let mut listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), STOP)?;
        let thread = std::thread::Builder::new()
            .name("responder".to_owned())
            .spawn(move || Server { poll, listener, peers: HashMap::new(), next: 0 }.serve())?;
        Ok(Self { address, waker, thread: Some(thread) })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // If the wake fails, the thread keeps waiting and a join would block forever.
        if self.waker.wake().is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    /// `true` after the upgrade to WebSocket.
    framed: bool,
}

struct Server {
    poll: Poll,
    listener: TcpListener,
    peers: HashMap<usize, Peer>,
    next: usize,
}

impl Server {
    fn serve(mut self) {
        let mut events = Events::with_capacity(1024);
        let constant = constant();
        loop {
            if self
                .poll
                .poll(&mut events, None)
                .is_err_and(|error| error.kind() != io::ErrorKind::Interrupted)
            {
                return;
            }
            for event in &events {
                match event.token() {
                    STOP => return,
                    LISTENER => self.accept(),
                    Token(number) => {
                        if let Some(peer) = self.peers.get_mut(&number)
                            && peer.answer(&constant).is_none()
                        {
                            self.peers.remove(&number);
                        }
                    }
                }
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((mut stream, _)) = self.listener.accept() {
            let _ = stream.set_nodelay(true);
            let interest = Interest::READABLE | Interest::WRITABLE;
            if self.poll.registry().register(&mut stream, Token(self.next), interest).is_ok() {
                let peer = Peer { stream, input: Vec::new(), output: Vec::new(), framed: false };
                self.peers.insert(self.next, peer);
                self.next += 1;
            }
        }
    }
}

impl Peer {
    /// Reads available bytes and answers each complete request. Returns `None` if the connection must be
    /// closed.
    fn answer(&mut self, constant: &[u8]) -> Option<()> {
        let mut piece = [0; 16 << 10];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(read) => {
                    self.input.extend_from_slice(&piece[..read]);
                    while let Some(end) = self.request(constant)? {
                        self.input.drain(..end);
                    }
                    if self.input.len() > LARGEST {
                        return None;
                    }
                    if read < piece.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return None,
            }
        }
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(written) => drop(self.output.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return None,
            }
        }
        Some(())
    }

    /// Answers the first request if it is complete, and returns its length. The response is in `output` then.
    ///
    /// Returns `None` if the bytes are not a request, `Some(None)` if it is incomplete.
    #[allow(clippy::option_option, reason = "no request, not whole yet, and how long it was")]
    fn request(&mut self, constant: &[u8]) -> Option<Option<usize>> {
        if self.framed {
            return Some(self.message());
        }
        let mut lines = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut lines);
        let httparse::Status::Complete(head) = request.parse(&self.input).ok()? else { return Some(None) };
        let line = |name: &str| {
            request.headers.iter().find(|line| line.name.eq_ignore_ascii_case(name)).map(|line| line.value)
        };
        if let Some(key) = line("sec-websocket-key") {
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {}\r\n\r\n",
                accept_key(key)
            );
            self.output.extend_from_slice(answer.as_bytes());
            self.framed = true;
            return Some(Some(head));
        }
        let length: usize = match line("content-length") {
            Some(value) => {
                std::str::from_utf8(value).ok()?.parse().ok().filter(|length| *length <= LARGEST)?
            }
            None => 0,
        };
        if self.input.len() < head + length {
            return Some(None);
        }
        self.output.extend_from_slice(constant);
        Some(Some(head + length))
    }

    /// Answers the first frame if it is complete, and returns its length. Only the length is parsed.
    fn message(&mut self) -> Option<usize> {
        let length = match self.input.get(1)? & 0x7f {
            126 => 4 + usize::from(u16::from_be_bytes(self.input.get(2..4)?.try_into().ok()?)),
            127 => 10 + usize::try_from(u64::from_be_bytes(self.input.get(2..10)?.try_into().ok()?)).ok()?,
            short => 2 + usize::from(short),
        };
        let end = length.checked_add(4)?;
        if self.input.len() < end {
            return None;
        }
        self.output.push(0x81);
        self.output.push(u8::try_from(BODY.len()).expect("the constant is short"));
        self.output.extend_from_slice(BODY);
        Some(end)
    }
}

fn constant() -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        BODY.len()
    );
    [head.as_bytes(), BODY].concat()
}
