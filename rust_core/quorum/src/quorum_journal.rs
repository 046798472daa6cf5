//! The journal of a member of a cluster: an append is durable on a majority before it is written here.

use std::sync::Arc;

use foreseal_journal::{Journal, JournalError, LocalJournal, Record};
use parking_lot::Mutex;

use crate::quorum_writer::QuorumWriter;

/// A journal whose appends a majority of the quorum store holds before this machine does. So what it holds was
/// acknowledged by the quorum store, and what is visible is in both.
pub struct QuorumJournal {
    local: LocalJournal,
    writer: Arc<Mutex<QuorumWriter>>,
}

impl QuorumJournal {
    /// Creates the journal with the copy on this machine. The holder of `writer` decides when it may append.
    pub fn new(local: LocalJournal, writer: Arc<Mutex<QuorumWriter>>) -> Self {
        Self { local, writer }
    }
}

impl Journal for QuorumJournal {
    fn append(&mut self, records: &[Record]) -> Result<u64, JournalError> {
        let prepared = self.local.prepare(records)?;
        self.writer.lock().append(&prepared, records)?;
        self.local.write(prepared, records)
    }

    fn beat(&mut self) -> Result<bool, JournalError> {
        self.writer.lock().beat()
    }

    fn local(&self) -> &LocalJournal {
        &self.local
    }

    fn local_mut(&mut self) -> &mut LocalJournal {
        &mut self.local
    }
}
