//! Cache of logs that readers have read from the store.

use std::sync::Arc;

use alloy_primitives::Log;
use foreseal_cache::{Cache, CacheMetrics};

/// Expected size of an entry in bytes.
const ENTRY_SIZE: u64 = 1 << 10;

/// A log and its rendered form.
#[derive(Debug)]
pub struct CachedLog {
    pub log: Log,
    pub shown: Box<[u8]>,
}

/// Cache of stored logs by ordinal, for one generation of the chain: until an unwind, an ordinal names the
/// same log.
#[derive(Debug)]
pub struct LogJsonCache(Cache<u64, Arc<CachedLog>>);

impl LogJsonCache {
    /// Returns an empty cache of at most this many bytes.
    pub(crate) fn new(capacity: u64) -> Self {
        Self(Cache::new("log_json", capacity, ENTRY_SIZE))
    }

    /// Returns an empty cache with the same capacity and counters, for another generation of the chain.
    pub(crate) fn renewed(&self) -> Self {
        Self(self.0.renewed())
    }

    /// Returns the metrics of the cache.
    pub(crate) fn metrics(&self) -> CacheMetrics {
        self.0.metrics()
    }

    /// Returns the cached log with this ordinal.
    pub fn get(&self, ordinal: u64) -> Option<Arc<CachedLog>> {
        self.0.get(&ordinal)
    }

    /// Caches a log.
    pub fn insert(&self, ordinal: u64, note: CachedLog) {
        let CachedLog { log, shown } = &note;
        let bytes = size_of::<CachedLog>() + 32 * log.topics().len() + log.data.data.len() + shown.len();
        self.0.insert(ordinal, Arc::new(note), bytes as u64);
    }
}
