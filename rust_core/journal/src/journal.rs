//! The durable log of a chain, as its single writer uses it.

use crate::{error::JournalError, local_journal::LocalJournal, record::Record};

/// The durable log of a chain. [`LocalJournal`] makes an append durable on this machine. The quorum journal of
/// crate `replication` first makes it durable on a majority of machines.
///
/// Recovery, feed and store use the copy on this machine, which every implementation has.
pub trait Journal: Send {
    /// Makes `records` durable as one unit and returns the append's sequence number.
    ///
    /// # Errors
    /// None of the records may become visible after an error. If the copy on this machine could not be written, it is
    /// poisoned. [`JournalError::TooLarge`] and the errors of a majority ([`JournalError::Superseded`],
    /// [`JournalError::Interrupted`], [`JournalError::Quorum`]) leave it unchanged; after the last two, other machines
    /// may have the append.
    fn append(&mut self, records: &[Record]) -> Result<u64, JournalError>;

    /// Proves to other machines that the writer is alive, at each tick. Returns `false` if they did not confirm
    /// that it is still the writer.
    ///
    /// # Errors
    /// Returns [`JournalError::Superseded`] if another machine writes the chain now.
    fn beat(&mut self) -> Result<bool, JournalError>;

    /// Returns the copy on this machine.
    fn local(&self) -> &LocalJournal;

    /// Returns the copy on this machine for an append that is already durable elsewhere, and for maintenance.
    fn local_mut(&mut self) -> &mut LocalJournal;
}

impl Journal for LocalJournal {
    fn append(&mut self, records: &[Record]) -> Result<u64, JournalError> {
        Self::append(self, records)
    }

    fn beat(&mut self) -> Result<bool, JournalError> {
        Ok(true)
    }

    fn local(&self) -> &LocalJournal {
        self
    }

    fn local_mut(&mut self) -> &mut LocalJournal {
        self
    }
}
