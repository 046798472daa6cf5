//! Parser of WebSocket messages from a server (RFC 6455, section 5).

/// Maximum size of a message in bytes.
const MAX_MESSAGE_SIZE: u64 = 1 << 30;
/// Maximum payload of a control frame in bytes.
const MAX_CONTROL_SIZE: u64 = 125;

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;

/// Error for bytes that are not valid WebSocket messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    #[error("a frame with reserved bits, of no known kind, or masked")]
    Frame,
    #[error("a control frame that is fragmented or larger than {MAX_CONTROL_SIZE} bytes")]
    Control,
    #[error("a continuation without a message, or a message within another")]
    Order,
    #[error("a message of more than {MAX_MESSAGE_SIZE} bytes")]
    Large,
    #[error("the server closed the connection: {0}")]
    Closed(String),
}

/// A parsed message or frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Complete text or binary message.
    Data(&'a [u8]),
    /// Ping; the client must send a pong with the same payload.
    Ping(&'a [u8]),
    /// Pong frame or incomplete message: no action needed.
    Nothing,
}

/// Parser of consecutive messages. Buffers the fragments of a message that spans several frames.
#[derive(Debug, Default)]
pub struct MessageReader {
    fragments: Vec<u8>,
    open: bool,
}

impl MessageReader {
    /// Returns the message that the first frame of `data` completes, and the frame's length in bytes.
    ///
    /// Returns `None` while the frame is incomplete.
    pub fn read<'a>(&'a mut self, data: &'a [u8]) -> Result<Option<(Message<'a>, usize)>, BadMessage> {
        let Some(frame) = Frame::parse(data)? else { return Ok(None) };
        let Frame { last, opcode, payload, end } = frame;
        let message = match opcode {
            PING => Message::Ping(payload),
            PONG => Message::Nothing,
            CLOSE => return Err(BadMessage::Closed(reason(payload))),
            _ if (opcode == CONTINUATION) != self.open => return Err(BadMessage::Order),
            _ if last && !self.open => Message::Data(payload),
            _ => {
                if !self.open {
                    self.fragments.clear();
                }
                if (self.fragments.len() + payload.len()) as u64 > MAX_MESSAGE_SIZE {
                    return Err(BadMessage::Large);
                }
                self.fragments.extend_from_slice(payload);
                self.open = !last;
                if last { Message::Data(&self.fragments) } else { Message::Nothing }
            }
        };
        Ok(Some((message, end)))
    }
}

struct Frame<'a> {
    last: bool,
    opcode: u8,
    payload: &'a [u8],
    end: usize,
}

impl<'a> Frame<'a> {
    fn parse(data: &'a [u8]) -> Result<Option<Self>, BadMessage> {
        let [first, second, ..] = *data else { return Ok(None) };
        let (last, opcode) = (first & 0x80 != 0, first & 0x0f);
        if first & 0x70 != 0
            || second & 0x80 != 0
            || !matches!(opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG)
        {
            return Err(BadMessage::Frame);
        }
        let (length, start) = match second {
            126 => match data.get(2..4) {
                Some(&[a, b]) => (u64::from(u16::from_be_bytes([a, b])), 4),
                _ => return Ok(None),
            },
            127 => match data.get(2..10).and_then(|bytes| bytes.try_into().ok()) {
                Some(bytes) => (u64::from_be_bytes(bytes), 10),
                None => return Ok(None),
            },
            short => (u64::from(short), 2),
        };
        if opcode >= CLOSE && (!last || length > MAX_CONTROL_SIZE) {
            return Err(BadMessage::Control);
        }
        let length = usize::try_from(length).ok().filter(|length| *length as u64 <= MAX_MESSAGE_SIZE);
        let end = start + length.ok_or(BadMessage::Large)?;
        Ok(data.get(start..end).map(|payload| Self { last, opcode, payload, end }))
    }
}

/// Returns the code and reason of a close frame.
fn reason(payload: &[u8]) -> String {
    match payload {
        [a, b, text @ ..] => {
            let text = String::from_utf8_lossy(text);
            format!("{} {text}", u16::from_be_bytes([*a, *b])).trim_end().to_owned()
        }
        _ => "without a code".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(data: &[u8]) -> Result<Vec<Vec<u8>>, BadMessage> {
        let (mut reader, mut at, mut messages) = (MessageReader::default(), 0, Vec::new());
        while let Some((message, end)) = reader.read(&data[at..])? {
            if let Message::Data(text) = message {
                messages.push(text.to_vec());
            }
            at += end;
        }
        Ok(messages)
    }

    #[test]
    fn messages_are_read_across_frames_and_around_a_ping() {
        assert_eq!(all(b"\x81\x05Hello\x82\x01x"), Ok(vec![b"Hello".to_vec(), b"x".to_vec()]));
        assert_eq!(all(b"\x01\x03Hel\x89\x01p\x8a\x00\x80\x02lo"), Ok(vec![b"Hello".to_vec()]));
        let long = [b"\x81\x7e\x01\x00".as_slice(), &[b'a'; 256]].concat();
        assert_eq!(all(&long), Ok(vec![vec![b'a'; 256]]));
        for end in 0..long.len() {
            assert_eq!(all(&long[..end]), Ok(vec![]));
        }
    }

    #[test]
    fn invalid_frames_are_rejected() {
        for (data, error) in [
            (b"\x81\x85abcdHello".as_slice(), BadMessage::Frame),
            (b"\xc1\x00", BadMessage::Frame),
            (b"\x83\x00", BadMessage::Frame),
            (b"\x09\x00", BadMessage::Control),
            (b"\x89\x7e\x00\x7e", BadMessage::Control),
            (b"\x80\x00", BadMessage::Order),
            (b"\x01\x01a\x81\x01b", BadMessage::Order),
            (b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", BadMessage::Large),
            (b"\x88\x05\x03\xf5bye", BadMessage::Closed("1013 bye".to_owned())),
            (b"\x88\x00", BadMessage::Closed("without a code".to_owned())),
        ] {
            assert_eq!(all(data), Err(error), "{data:?}");
        }
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_never_panic(data in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = all(&data);
        }
    }
}
