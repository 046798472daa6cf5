//! Cache of logs that readers have read from the store.

use std::sync::Arc;

use alloy_primitives::Log;
use foreseal_cache::Cache;

/// Maximum size of the cache, in bytes.
const BYTES: u64 = 8 << 20;
/// Approximate number of entries in a full cache.
const NUMBER: usize = 8192;
/// Size of an entry without its content, in bytes.
const OWN: usize = 128;

/// A log and its rendered form.
#[derive(Debug)]
pub struct Note {
    pub log: Log,
    pub shown: Box<[u8]>,
}

/// Cache of stored logs by ordinal, for one generation of the chain: until an unwind, an ordinal names the
/// same log.
#[derive(Debug)]
pub struct Notes(Cache<u64, Arc<Note>>);

impl Default for Notes {
    fn default() -> Self {
        Self(Cache::new(BYTES, NUMBER))
    }
}

impl Notes {
    /// Returns the cached log with this ordinal.
    pub fn get(&self, ordinal: u64) -> Option<Arc<Note>> {
        self.0.get(&ordinal)
    }

    /// Caches a log.
    pub fn keep(&self, ordinal: u64, note: Note) {
        let Note { log, shown } = &note;
        let bytes = OWN + 32 * log.topics().len() + log.data.data.len() + shown.len();
        self.0.insert(ordinal, Arc::new(note), bytes as u64);
    }
}
