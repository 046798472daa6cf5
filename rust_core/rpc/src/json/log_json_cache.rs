//! Cache of stored logs rendered as JSON.

use std::sync::Arc;

use alloy_primitives::Log;
use foreseal_cache::{Cache, CacheMetrics};

/// Expected size of an entry in bytes.
const ENTRY_SIZE: u64 = 1 << 10;
/// An entry uses at most this fraction of the capacity.
const MAX_SHARE: u64 = 8;

/// Key of a stored log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogKey {
    /// Generation of the store: each unwind begins another one.
    pub generation: u64,
    /// Position among all logs of the chain, which names the same log during one generation.
    pub ordinal: u64,
}

/// A log and its JSON.
#[derive(Debug)]
pub struct CachedLog {
    pub log: Log,
    pub json: Box<[u8]>,
}

/// Cache of stored logs by generation and ordinal. Entries of past generations are evicted as others come.
#[derive(Debug)]
pub struct LogJsonCache(Cache<LogKey, Arc<CachedLog>>);

impl LogJsonCache {
    /// Returns an empty cache of at most this many bytes.
    pub fn new(capacity: u64) -> Self {
        Self(Cache::new("log_json", capacity, ENTRY_SIZE))
    }

    /// Returns the metrics of the cache.
    pub fn metrics(&self) -> CacheMetrics {
        self.0.metrics()
    }

    /// Returns the cached log with this key.
    pub fn get(&self, key: LogKey) -> Option<Arc<CachedLog>> {
        self.0.get(&key)
    }

    /// Caches a log.
    pub fn insert(&self, key: LogKey, cached: CachedLog) {
        let CachedLog { log, json } = &cached;
        let bytes = size_of::<CachedLog>() + 32 * log.topics().len() + log.data.data.len() + json.len();
        // A giant log would evict thousands of others.
        if bytes as u64 <= self.0.capacity() / MAX_SHARE {
            self.0.insert(key, Arc::new(cached), bytes as u64);
        }
    }
}
