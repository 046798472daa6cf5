//! Beats of the owner from another thread than the one that appends.

use bytes::Bytes;

use crate::{append_error::FenceError, quorum_connection::QuorumConnection, quorum_store::KeyOperation};

/// Sender of beats under the fence of an owner, for the time in which an append or an execution takes long.
pub struct BeatSender {
    connection: QuorumConnection,
    owner_revision: u64,
    beats: u64,
}

impl BeatSender {
    pub(crate) fn new(connection: QuorumConnection, owner_revision: u64) -> Self {
        Self { connection, owner_revision, beats: 0 }
    }

    /// Writes the beat in one round if the owner is still the same.
    ///
    /// # Errors
    /// Returns [`FenceError`]. A beat without an answer may still be written.
    pub fn beat(&mut self) -> Result<(), FenceError> {
        self.beats += 1;
        let value = Bytes::from(format!("busy {}", self.beats));
        let put = KeyOperation::Put { key: self.connection.keys.beat(), value };
        self.connection.write_as_owner(self.owner_revision, vec![put]).map(|_| ())
    }
}
