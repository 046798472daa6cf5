//! WebSocket text frames (RFC 6455): decoding of complete, short client messages in one frame, and encoding
//! of messages to a client.

/// First byte of an unfragmented text message.
const WHOLE_TEXT: u8 = 0x81;
const MASKED: u8 = 0x80;
/// Values of the second byte that mean an extended length of two or eight bytes.
const MEDIUM: u8 = 126;
const LONG: u8 = 127;

/// Text message from a client.
#[derive(Debug, PartialEq, Eq)]
pub struct TextMessage {
    /// Unmasked payload, not validated as UTF-8.
    pub content: Vec<u8>,
    /// Size of the frame in bytes.
    pub size: usize,
}

/// Decodes the text message at the start of `data`, of at most `max_size` bytes and less than 64 KiB.
///
/// Returns `None` for any other or incomplete frame.
pub fn first_text(data: &[u8], max_size: usize) -> Option<TextMessage> {
    let [WHOLE_TEXT, length, rest @ ..] = data else { return None };
    let (length, rest) = match (length.checked_sub(MASKED)?, rest) {
        (LONG.., _) => return None,
        (MEDIUM, [high, low, rest @ ..]) if *high > 0 || *low >= MEDIUM => {
            (usize::from(u16::from_be_bytes([*high, *low])), rest)
        }
        // Incomplete, or a non-minimal length.
        (MEDIUM, _) => return None,
        (short, _) => (usize::from(short), rest),
    };
    let (mask, rest) = rest.split_first_chunk::<4>()?;
    let mut content = rest.get(..length).filter(|_| length <= max_size)?.to_vec();
    for piece in content.chunks_mut(mask.len()) {
        for (byte, mask) in piece.iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }
    Some(TextMessage { content, size: data.len() - rest.len() + length })
}

/// Appends a text message to a client, the concatenation of `parts`, in one frame to `frames`.
pub fn add_text(frames: &mut Vec<u8>, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    frames.reserve(10 + length);
    frames.push(WHOLE_TEXT);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < MEDIUM => frames.push(short),
        (_, Ok(medium)) => {
            frames.push(MEDIUM);
            frames.extend_from_slice(&medium.to_be_bytes());
        }
        _ => {
            frames.push(LONG);
            frames.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    for part in parts {
        frames.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

    /// Encodes a masked frame as a client does.
    fn masked(content: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        add_text(&mut plain, &[content]);
        let head = plain.len() - content.len();
        plain[1] |= MASKED;
        let bytes = content.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask);
        [&plain[..head], &MASK, &bytes.collect::<Vec<_>>()].concat()
    }

    #[test]
    fn an_overlong_length_encoding_uses_the_slow_path() {
        let mut frame = vec![WHOLE_TEXT, MASKED | MEDIUM, 0, 125];
        frame.resize(frame.len() + 4 + 126, 0);
        assert_eq!(first_text(&frame, 1000), None);
        frame[3] = 126;
        assert!(first_text(&frame, 1000).is_some());
    }

    /// Example of RFC 6455, section 5.7.
    #[test]
    fn the_example_frames_of_rfc_6455_match() {
        let frame = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(first_text(&frame, 5), Some(TextMessage { content: b"Hello".to_vec(), size: 11 }));
        let mut frames = Vec::new();
        add_text(&mut frames, &[b"Hel", b"", b"lo"]);
        assert_eq!(frames, [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
    }

    #[test]
    fn text_messages_of_every_short_length_are_read() {
        for length in [0, 1, 3, 4, 125, 126, 127, 255, 256, 65_535] {
            let content: Vec<u8> = (0..length).map(|at: usize| at.to_le_bytes()[0]).collect();
            let frame = masked(&content);
            let behind = [&frame[..], b"rest"].concat();
            assert_eq!(
                first_text(&behind, length),
                Some(TextMessage { content, size: frame.len() }),
                "{length}"
            );
            for end in [0, 1, 2, 5, frame.len() - 1] {
                assert_eq!(first_text(&frame[..end], length), None, "{end} bytes of {length}");
            }
            assert_eq!(length.checked_sub(1).and_then(|max| first_text(&frame, max)), None, "{length}");
        }
    }

    #[test]
    fn other_frames_use_the_slow_path() {
        let frame = masked(b"{}");
        for first in (0..=u8::MAX).filter(|first| *first != WHOLE_TEXT) {
            assert_eq!(first_text(&[&[first], &frame[1..]].concat(), 9), None, "{first:#x}");
        }
        let mut plain = Vec::new();
        add_text(&mut plain, &[b"not masked, as no client may"]);
        assert_eq!(first_text(&plain, 99), None);
        assert_eq!(first_text(&masked(&b" ".repeat(65_536)), 99_999), None);
    }

    #[test]
    fn a_long_text_has_an_eight_byte_length() {
        let mut frames = Vec::new();
        add_text(&mut frames, &[&b" ".repeat(65_536)]);
        assert_eq!(frames[..10], [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(frames.len(), 65_546);
    }
}
