//! Reasons for which a connection ends.

use std::io::{self, Write};

use foreseal_journal::JournalError;

use crate::wire::{Ending, Response, WireError};

/// Reason for which a follower is no longer served.
#[derive(Debug, thiserror::Error)]
pub(super) enum DisconnectReason {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("sending failed: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the sequencer closed the connection: {0}")]
    Dismissed(Ending),
    #[error("sending a snapshot failed: {0}")]
    DirectoryCopy(String),
    #[error("the follower closed the connection")]
    Closed,
}

/// Sends the reason if the follower is dismissed.
pub(super) fn dismissing<T>(
    result: Result<T, DisconnectReason>,
    out: &mut impl Write,
) -> Result<T, DisconnectReason> {
    if let Err(DisconnectReason::Dismissed(ending)) = &result {
        out.write_all(&Response::End(ending.clone()).encode())?;
        out.flush()?;
    }
    result
}
