//! Encoding of frames.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use super::WireError;

/// Idle timeout of both sides, for reads as well as for writes. Measured by the machine's clock, even if the
/// chain runs on another.
pub const MAX_SILENCE: Duration = Duration::from_secs(10);

/// Idle timeout of both sides during a copy of the data directory. It is longer: the receiver reads nothing while it
/// syncs a file, and the sender sends nothing while it verifies the journal.
pub const MAX_COPY_SILENCE: Duration = Duration::from_mins(2);

/// Idle timeout of a follower on another machine, which then tries another address: several heartbeats.
pub const MAX_REMOTE_SILENCE: Duration = Duration::from_secs(3);

/// Maximum interval between two messages.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum size of a frame to a follower: the largest append of a journal and its header fields.
pub const MAX_RESPONSE_SIZE: usize = (1 << 30) + (1 << 10);
/// Maximum size of a greeting.
pub const MAX_GREETING_SIZE: usize = 4 << 10;
/// Maximum size of a frame to the sequencer.
pub const MAX_REQUEST_SIZE: usize = 16 << 20;

const LENGTH: usize = 4;
/// Size in bytes of the frame number after a body.
const NUMBER: u32 = 4;

/// Returns a frame of this kind; `write` appends its body.
pub(super) fn framed(kind: u8, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; LENGTH];
    out.push(kind);
    write(&mut out);
    let length = u32::try_from(out.len() - LENGTH).expect("a payload is far smaller than 4 GiB");
    out[..LENGTH].copy_from_slice(&length.to_le_bytes());
    out
}

/// Reads the kind and the body of the next frame, of at most `limit` bytes. Returns `None` if the stream ends
/// between two frames.
///
/// Allocates memory for the received bytes only, never for the announced length.
pub fn read_frame(stream: &mut impl Read, limit: usize) -> Result<Option<(u8, Vec<u8>)>, WireError> {
    let mut length = [0; LENGTH];
    if !read_first(stream, &mut length)? {
        return Ok(None);
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > limit {
        return Err(WireError::TooLarge { length, limit });
    }
    let mut kind = [0; 1];
    if length == 0 {
        return Err(WireError::Empty);
    }
    stream.read_exact(&mut kind)?;
    let mut body = Vec::new();
    let wanted = length - 1;
    stream.take(wanted as u64).read_to_end(&mut body)?;
    if body.len() < wanted {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some((kind[0], body)))
}

/// Writes a frame with its number after its body.
pub fn write_numbered(out: &mut impl Write, frame: &[u8], number: u32) -> io::Result<()> {
    let (length, rest) = frame.split_first_chunk::<LENGTH>().expect("a frame begins with its length");
    out.write_all(&(u32::from_le_bytes(*length) + NUMBER).to_le_bytes())?;
    out.write_all(rest)?;
    out.write_all(&number.to_le_bytes())
}

/// Removes the number from a frame's body, and checks that it is the expected one.
pub fn strip_number(body: &mut Vec<u8>, due: u32) -> Result<(), WireError> {
    let (rest, number) = body.split_last_chunk().ok_or(WireError::Empty)?;
    let (frame_number, length) = (u32::from_le_bytes(*number), rest.len());
    if frame_number != due {
        return Err(WireError::OutOfOrder { found: frame_number, due });
    }
    body.truncate(length);
    Ok(())
}

/// Fills `bytes`; returns `false` if the stream ends before the first of them.
fn read_first(stream: &mut impl Read, bytes: &mut [u8; LENGTH]) -> Result<bool, io::Error> {
    let mut done = 0;
    while done < LENGTH {
        match stream.read(&mut bytes[done..]) {
            Ok(0) if done == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
