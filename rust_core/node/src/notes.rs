//! What readers of logs keep of those that they have read.

use std::sync::Arc;

use alloy_primitives::Log;
use foreseal_types::Cache;

/// Bytes that notes take together.
const BYTES: u64 = 8 << 20;
/// About how many there are then.
const NUMBER: usize = 8192;
/// Bytes of a note without what it holds.
const OWN: usize = 128;

/// A log, and the form in which it is given out.
#[derive(Debug)]
pub struct Note {
    pub log: Log,
    pub shown: Box<[u8]>,
}

/// Notes on stored logs by ordinal, of one generation of the chain: an ordinal names one log as long as nothing is unwound.
#[derive(Debug)]
pub struct Notes(Cache<u64, Arc<Note>>);

impl Default for Notes {
    fn default() -> Self {
        Self(Cache::new(BYTES, NUMBER))
    }
}

impl Notes {
    /// The note on the log with this ordinal.
    pub fn get(&self, ordinal: u64) -> Option<Arc<Note>> {
        self.0.get(&ordinal)
    }

    /// Keeps a note for a while.
    pub fn keep(&self, ordinal: u64, note: Note) {
        let Note { log, shown } = &note;
        let bytes = OWN + 32 * log.topics().len() + log.data.data.len() + shown.len();
        self.0.insert(ordinal, Arc::new(note), bytes as u64);
    }
}
