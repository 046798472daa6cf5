//! Readers of flashblocks.

use std::{
    collections::VecDeque,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use alloy_primitives::B256;
use op_alloy_rpc_types_engine::{OpExecutionData, OpFlashblockPayload};
use tokio_tungstenite::tungstenite::{
    Error, Message, WebSocket, client,
    client::IntoClientRequest as _,
    http::{HeaderValue, StatusCode},
};

/// Time after which a test that waits for a message fails.
const PATIENCE: Duration = Duration::from_mins(1);

pub struct TestReader {
    socket: WebSocket<TcpStream>,
    /// Messages that arrived before a pong.
    arrived: VecDeque<OpFlashblockPayload>,
}

impl TestReader {
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address, "/", &[]).expect("the handshake succeeds")
    }

    /// Connects, or returns the status of the response.
    pub fn try_connect(
        address: SocketAddr,
        path: &str,
        headers: &[(&'static str, &'static str)],
    ) -> Result<Self, StatusCode> {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        match client(request, stream) {
            Ok((socket, _)) => Ok(Self { socket, arrived: VecDeque::new() }),
            Err(error) => match error {
                tokio_tungstenite::tungstenite::HandshakeError::Failure(Error::Http(response)) => {
                    Err(response.status())
                }
                error => panic!("{error}"),
            },
        }
    }

    /// Returns the next message as op-alloy reads it.
    pub fn next(&mut self) -> OpFlashblockPayload {
        let begun = Instant::now();
        while self.arrived.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "no message arrives");
            self.read();
        }
        self.arrived.pop_front().expect("one has arrived")
    }

    /// Reads one frame. Returns `true` if it is a pong.
    fn read(&mut self) -> bool {
        match self.socket.read().unwrap() {
            Message::Text(json) => self.arrived.push_back(serde_json::from_str(&json).unwrap()),
            Message::Ping(_) => {}
            Message::Pong(_) => return true,
            other => panic!("{other:?}"),
        }
        false
    }

    /// Returns the next `count` messages.
    pub fn take(&mut self, count: usize) -> Vec<OpFlashblockPayload> {
        (0..count).map(|_| self.next()).collect()
    }

    /// Reads until the connection ends. Returns the number of messages and the close code, if it arrived.
    pub fn read_to_end(&mut self) -> (usize, Option<u16>) {
        let (mut messages, mut code) = (0, None);
        loop {
            match self.socket.read() {
                Ok(Message::Text(_)) => messages += 1,
                Ok(Message::Close(frame)) => code = frame.map(|frame| frame.code.into()),
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("the connection does not end")
                }
                Err(_) => return (messages, code),
            }
        }
    }

    /// Sends a ping and returns once its pong has arrived.
    pub fn ping(&mut self) {
        self.socket.send(Message::Ping("hello".into())).unwrap();
        while !self.read() {}
    }

    pub fn send(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message)
    }
}

/// Returns the hash of the block that flashblocks make up: its header is computed from base, last diff and all
/// transactions.
pub fn folded_hash(flashblocks: &[OpFlashblockPayload]) -> B256 {
    let OpExecutionData { payload, sidecar } = OpExecutionData::from_flashblocks(flashblocks).unwrap();
    let block = payload.into_block_with_sidecar_raw(&sidecar).unwrap();
    block.header.hash_slow()
}

/// Header of a frame and its payload.
pub struct RawFrame {
    pub first: u8,
    pub payload: Vec<u8>,
    pub length: usize,
}

/// Connects and reads the frames of one message, without a library.
pub fn raw_frames(address: SocketAddr) -> Vec<RawFrame> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "GET /ws HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(read::<1>(&mut stream)[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    let mut frames = Vec::new();
    loop {
        let [first, second] = read::<2>(&mut stream);
        let (header, payload) = match second {
            126 => (4, usize::from(u16::from_be_bytes(read(&mut stream)))),
            127 => (10, usize::try_from(u64::from_be_bytes(read(&mut stream))).unwrap()),
            short => (2, usize::from(short)),
        };
        let mut bytes = vec![0; payload];
        stream.read_exact(&mut bytes).unwrap();
        // Control frames may come between fragments.
        if first & 0x08 == 0 {
            frames.push(RawFrame { first, payload: bytes, length: header + payload });
            if first & 0x80 != 0 {
                return frames;
            }
        }
    }
}

fn read<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}
