//! Caches of results rendered as JSON.

use foreseal_cache::CacheMetrics;

use crate::{block_json_cache::BlockJsonCache, large_answers::LargeAnswers, log_json_cache::LogJsonCache};

/// Capacities of the caches of JSON in bytes; 0 disables a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonCacheSizes {
    /// Blocks and receipts.
    pub blocks: u64,
    /// Stored logs.
    pub logs: u64,
}

impl Default for JsonCacheSizes {
    fn default() -> Self {
        Self { blocks: 24 << 20, logs: 8 << 20 }
    }
}

/// Caches of JSON that all tiers of callers share.
pub struct JsonCaches {
    pub blocks: BlockJsonCache,
    pub logs: LogJsonCache,
    /// Large results in progress.
    pub large_answers: LargeAnswers,
}

impl JsonCaches {
    /// Returns empty caches of these capacities.
    pub fn new(sizes: JsonCacheSizes) -> Self {
        Self {
            blocks: BlockJsonCache::new(sizes.blocks),
            logs: LogJsonCache::new(sizes.logs),
            large_answers: LargeAnswers::default(),
        }
    }

    /// Returns the metrics of the caches.
    pub fn metrics(&self) -> [CacheMetrics; 2] {
        [self.logs.metrics(), self.blocks.metrics()]
    }
}
