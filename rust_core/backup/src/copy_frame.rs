//! Frames of the stream that a copy of a data directory is sent over.
//!
//! ```text
//!   magic
//!   Start (chain, sizes)
//!   File (path)  Chunk ... Chunk  FileEnd (size, hashes)      for each file
//!   Manifest
//!   End                                                       or Failed (reason), at any time
//! ```
//!
//! A frame is the length of its body (4 bytes, little-endian), a byte for its kind, the CRC-32C of kind and
//! body, and its body. The reader trusts no length.

use std::io::{self, Read, Write};

use crate::{copy_rate::CHUNK_SIZE, error::BackupError};

/// First bytes of the stream, with the version of its format.
pub(crate) const MAGIC: &[u8; 8] = b"FSEALSN1";

const HEADER: usize = 9;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Chain and sizes, as JSON.
    Start,
    /// Path of the next file.
    File,
    /// Next bytes of the file.
    Chunk,
    /// Size and hashes of the file, as JSON.
    FileEnd,
    /// The manifest, as in a backup.
    Manifest,
    End,
    /// Reason for which the sender cannot continue.
    Failed,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<Self> {
        let all =
            [Self::Start, Self::File, Self::Chunk, Self::FileEnd, Self::Manifest, Self::End, Self::Failed];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Returns the maximum size of the body in bytes.
    fn limit(self) -> usize {
        match self {
            Self::Start | Self::FileEnd | Self::Failed => 4 << 10,
            Self::File => 256,
            Self::Chunk => CHUNK_SIZE,
            Self::Manifest => 64 << 20,
            Self::End => 0,
        }
    }
}

/// Writes a frame. A reason that is too long is cut.
pub(crate) fn write_frame(out: &mut dyn Write, kind: FrameKind, body: &[u8]) -> io::Result<()> {
    let body = if kind == FrameKind::Failed { &body[..body.len().min(kind.limit())] } else { body };
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= kind.limit());
    let too_long = || io::Error::new(io::ErrorKind::InvalidInput, "a frame of the snapshot is too long");
    let length = length.ok_or_else(too_long)?;
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4] = kind as u8;
    header[5..].copy_from_slice(&checksum(kind as u8, body).to_le_bytes());
    out.write_all(&header)?;
    out.write_all(body)
}

fn checksum(kind: u8, body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&[kind]), body)
}

/// Reads frames from a stream.
pub(crate) struct FrameReader<'a> {
    input: &'a mut dyn Read,
    body: Vec<u8>,
}

impl<'a> FrameReader<'a> {
    /// Reads the first bytes of the stream, which identify it.
    pub fn begin(input: &'a mut dyn Read) -> Result<Self, BackupError> {
        let mut magic = [0; MAGIC.len()];
        input.read_exact(&mut magic).map_err(|error| stream_error(&error))?;
        if magic != *MAGIC {
            let why = "it does not begin like one: use the same version on both sides".to_owned();
            return Err(BackupError::NotACopy { why });
        }
        Ok(Self { input, body: Vec::new() })
    }

    /// Reads the next frame. Allocates memory for received bytes only.
    pub fn next(&mut self) -> Result<(FrameKind, &[u8]), BackupError> {
        let mut header = [0; HEADER];
        self.input.read_exact(&mut header).map_err(|error| stream_error(&error))?;
        let [l0, l1, l2, l3, kind, c0, c1, c2, c3] = header;
        let length = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
        let Some(known) = FrameKind::from_byte(kind) else {
            return Err(invalid(format!("a frame has the unknown kind {kind}")));
        };
        if length > known.limit() {
            return Err(invalid(format!("a frame {known:?} has {length} bytes, at most {}", known.limit())));
        }
        self.body.clear();
        let read = self.input.take(length as u64).read_to_end(&mut self.body);
        read.map_err(|error| stream_error(&error))?;
        if self.body.len() < length {
            return Err(stream_error(&io::ErrorKind::UnexpectedEof.into()));
        }
        if checksum(kind, &self.body) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(invalid(format!("a frame {known:?} fails its checksum")));
        }
        Ok((known, &self.body))
    }
}

/// Returns the error for an invalid stream.
pub(crate) fn invalid(why: String) -> BackupError {
    BackupError::DamagedCopy { file: "the stream".to_owned(), why }
}

/// Returns the error for a failed connection.
pub(crate) fn stream_error(error: &io::Error) -> BackupError {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection ended before the snapshot was complete".to_owned(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "the other side does not respond".to_owned(),
        _ => error.to_string(),
    };
    BackupError::Stream { why }
}
