//! Frames as bytes.

use std::io::{self, Read, Write};

use foreseal_types::mutant;

use super::WireError;

/// The greatest frame to a follower: the greatest append of a journal and its front.
pub const GREATEST_DOWN: usize = (1 << 30) + (1 << 10);
/// The greatest frame to the sequencer.
pub const GREATEST_UP: usize = 16 << 20;

const LENGTH: usize = 4;
/// Bytes of a number behind a body.
const NUMBER: u32 = 4;

/// A frame of this kind, whose body `write` appends.
pub(super) fn framed(kind: u8, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; LENGTH];
    out.push(kind);
    write(&mut out);
    let length = u32::try_from(out.len() - LENGTH).expect("what is framed is far smaller than 4 GiB");
    out[..LENGTH].copy_from_slice(&length.to_le_bytes());
    out
}

/// Reads the next frame of at most `limit` bytes: its kind and its body. `None` where the stream ends between two frames.
///
/// Memory grows with what has come, not with what the length says.
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
    if body.len() < wanted && !mutant!("take-half-a-frame") {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some((kind[0], body)))
}

/// Writes a frame with its number behind its body.
pub fn write_numbered(out: &mut impl Write, frame: &[u8], number: u32) -> io::Result<()> {
    let (length, rest) = frame.split_first_chunk::<LENGTH>().expect("a frame begins with its length");
    out.write_all(&(u32::from_le_bytes(*length) + NUMBER).to_le_bytes())?;
    out.write_all(rest)?;
    out.write_all(&number.to_le_bytes())
}

/// Takes the number off a frame's body; it is the one that is due.
pub fn take_number(body: &mut Vec<u8>, due: u32) -> Result<(), WireError> {
    let (rest, number) = body.split_last_chunk().ok_or(WireError::Empty)?;
    let (found, length) = (u32::from_le_bytes(*number), rest.len());
    if found != due && !mutant!("ignore-frame-numbers") {
        return Err(WireError::OutOfOrder { found, due });
    }
    body.truncate(length);
    Ok(())
}

/// Fills `bytes`; `false` where the stream ends before the first of them.
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
