//! Caches of results rendered as JSON.

use foreseal_cache::CacheMetrics;
use foreseal_node::{MemoryBudget, MemoryUse};

use super::{block_json_cache::BlockJsonCache, large_answers::LargeAnswers, log_json_cache::LogJsonCache};

/// Caches of JSON that all tiers of callers share.
pub struct JsonCaches {
    /// Blocks and receipts.
    pub blocks: BlockJsonCache,
    /// Stored logs.
    pub logs: LogJsonCache,
    /// Large results in progress.
    pub large_answers: LargeAnswers,
}

impl JsonCaches {
    /// Returns empty caches with their shares of the budget.
    pub fn new(memory: MemoryBudget) -> Self {
        Self {
            blocks: BlockJsonCache::new(memory.share(MemoryUse::BlockJson)),
            logs: LogJsonCache::new(memory.share(MemoryUse::LogJson)),
            large_answers: LargeAnswers::default(),
        }
    }

    /// Returns the metrics of the caches.
    pub fn metrics(&self) -> [CacheMetrics; 2] {
        [self.logs.metrics(), self.blocks.metrics()]
    }
}
