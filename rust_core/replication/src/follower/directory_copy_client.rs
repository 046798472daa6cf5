//! The transfer of a copy of the data directory to a new machine.

use std::{
    io::{self, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
};

use foreseal_journal::Identity;

use crate::wire::{Ending, MAX_COPY_SILENCE, MAX_SILENCE, Request, Response, WireError, read_frame};

/// Size of the buffer behind the socket, in bytes.
const BUFFER_SIZE: usize = 128 << 10;
/// Maximum size of the sender's first frame.
const MAX_FIRST_FRAME_SIZE: usize = 64 << 10;

/// Error of requesting a copy of the data directory.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryCopyError {
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("the sequencer closed the connection: its version may be older")]
    Closed,
    #[error(transparent)]
    Ended(Ending),
    #[error("the sequencer did not respond with a snapshot")]
    Unexpected,
    #[error("the sequencer has chain {found}, expected {expected}")]
    OtherChain { found: Identity, expected: Identity },
}

impl DirectoryCopyError {
    /// Returns `true` if a later attempt may succeed.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Io(_) | Self::Wire(WireError::Io(_) | WireError::Silent { .. }) => true,
            Self::Ended(ending) => matches!(ending, Ending::Stopping | Ending::Busy { .. }),
            Self::Wire(_) | Self::Closed | Self::Unexpected | Self::OtherChain { .. } => false,
        }
    }
}

/// Requests a copy of the data directory over a fresh connection to a sequencer, and passes `receive` the chain and the
/// bytes. `identity` is the chain of the receiver; `None` accepts that of the sequencer. The connection is closed at
/// the end.
pub fn fetch_directory_copy<T>(
    stream: &UnixStream,
    identity: Option<Identity>,
    receive: impl FnOnce(Identity, &mut dyn Read) -> T,
) -> Result<T, DirectoryCopyError> {
    let received =
        request(stream, identity).map(|(sender_identity, mut input)| receive(sender_identity, &mut input));
    // The other side may have closed it before.
    let _ = stream.shutdown(Shutdown::Both);
    received
}

fn request(
    mut stream: &UnixStream,
    identity: Option<Identity>,
) -> Result<(Identity, BufReader<&UnixStream>), DirectoryCopyError> {
    stream.set_read_timeout(Some(MAX_COPY_SILENCE))?;
    stream.set_write_timeout(Some(MAX_SILENCE))?;
    stream.write_all(&Request::DirectoryCopy { identity }.encode())?;
    let mut input = BufReader::with_capacity(BUFFER_SIZE, stream);
    let (kind, body) = read_frame(&mut input, MAX_FIRST_FRAME_SIZE)?.ok_or(DirectoryCopyError::Closed)?;
    match (Response::decode(kind, body)?, identity) {
        (Response::DirectoryCopy(sender_identity), Some(expected)) if sender_identity != expected => {
            Err(DirectoryCopyError::OtherChain { found: sender_identity, expected })
        }
        (Response::DirectoryCopy(sender_identity), _) => Ok((sender_identity, input)),
        (Response::End(ending), _) => Err(DirectoryCopyError::Ended(ending)),
        _ => Err(DirectoryCopyError::Unexpected),
    }
}
