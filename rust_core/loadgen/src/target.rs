//! Address of the server and encoding of the requests.

use std::net::SocketAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha1::{Digest, Sha1};

/// Suffix of the accept key (RFC 6455, section 1.3).
const ACCEPT_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Base64 of sixteen arbitrary bytes (RFC 6455, section 4.1).
const KEY: &str = "Zm9yZXNlYWwtYmVuY2gtMQ==";
/// A mask other than zeros makes the server unmask the payload.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
const TEXT: u8 = 1;
/// Bits and length codes of a frame header.
const LAST: u8 = 0x80;
const MASKED: u8 = 0x80;
const TWO_BYTES: u8 = 126;
const EIGHT_BYTES: u8 = 127;

/// Error for a target that cannot be encoded in a request head.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("{name}: {value:?} cannot stand in the head of a request")]
    NotAHead { name: &'static str, value: String },
}

/// Server address, `Host` value and request path.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: SocketAddr,
    host: String,
    path: String,
}

impl Target {
    /// Creates a target. `host` is the value of the `Host` field, `path` the request target including its
    /// query.
    ///
    /// # Errors
    ///
    /// Returns an error if either is empty or has characters other than visible ASCII.
    pub fn new(address: SocketAddr, host: &str, path: &str) -> Result<Self, TargetError> {
        for (name, value) in [("host", host), ("path", path)] {
            if value.is_empty() || value.bytes().any(|byte| !byte.is_ascii_graphic()) {
                return Err(TargetError::NotAHead { name, value: value.to_owned() });
            }
        }
        Ok(Self { address, host: host.to_owned(), path: path.to_owned() })
    }

    /// Encodes a POST request with `body`, with the headers of an ordinary client.
    pub fn post(&self, body: &[u8]) -> Vec<u8> {
        let mut bytes = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nUser-Agent: foreseal-bench\r\n\
             Accept: */*\r\nContent-Length: {}\r\n\r\n",
            self.path,
            self.host,
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }

    /// Encodes a WebSocket upgrade request.
    pub fn opening(&self) -> Vec<u8> {
        format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n",
            self.path, self.host
        )
        .into_bytes()
    }

    /// Returns the `Sec-WebSocket-Accept` value expected for `opening`.
    pub fn accept() -> String {
        accept_key(KEY.as_bytes())
    }
}

/// Returns the accept value for a key (RFC 6455, section 4.2.2).
pub fn accept_key(key: &[u8]) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(ACCEPT_SUFFIX).finalize())
}

/// Encodes a text message as one masked frame (RFC 6455, section 5.2).
pub fn masked(payload: &[u8]) -> Vec<u8> {
    frame(TEXT, payload)
}

/// Encodes one masked frame with this opcode.
pub fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![LAST | opcode];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length), _) if length < TWO_BYTES => bytes.push(MASKED | length),
        (_, Ok(length)) => {
            bytes.push(MASKED | TWO_BYTES);
            bytes.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            bytes.push(MASKED | EIGHT_BYTES);
            bytes.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_key_of_rfc_6455_has_its_accept_value() {
        assert_eq!(accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(STANDARD.decode(KEY).map(|key| key.len()), Ok(16));
    }

    #[test]
    fn the_masked_hello_of_rfc_6455_is_written() {
        assert_eq!(masked(b"Hello"), b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
        assert_eq!(masked(&[b'a'; 126])[..4], [0x81, 0xfe, 0, 126]);
        assert_eq!(masked(&vec![b'a'; 65_536])[..10], [0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn a_header_value_with_a_line_break_is_rejected() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        for (host, path) in [("a\r\nX: 1", "/"), ("a", "/ HTTP/1.1\r\n"), ("", "/"), ("a", "")] {
            assert!(Target::new(address, host, path).is_err(), "{host:?} {path:?}");
        }
    }
}
