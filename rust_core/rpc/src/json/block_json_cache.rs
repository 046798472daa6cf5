//! Cache of blocks rendered as JSON.
//!
//! A hash determines the whole content of a block, sealed or pending. An entry therefore never becomes stale,
//! and can be shared without a copy.

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_cache::{Cache, CacheMetrics};

/// Expected size of an entry in bytes.
const ENTRY_SIZE: u64 = 24 << 10;
/// An entry uses at most this fraction of the capacity.
const MAX_SHARE: u64 = 8;

/// Part of a block that is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockPart {
    /// The block with the hashes of its transactions.
    Hashes,
    /// The block with its transactions.
    Full,
    /// The list of its receipts.
    Receipts,
    /// A part of a step in the form of the feed.
    Flashblock(FlashblockKey),
}

/// Part of a step in the form of the feed. The step's hash alone does not determine its index and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlashblockKey {
    pub index: u64,
    /// Index of the first transaction that the step added.
    pub first: usize,
    pub time: u64,
    pub removed: bool,
    /// Number of the part, and the transaction and log at which it starts.
    pub part: u64,
    pub transaction: usize,
    pub log: usize,
    /// Size at which a part ends.
    pub size: usize,
}

/// Cache by block hash and part.
pub struct BlockJsonCache(Cache<(B256, BlockPart), Bytes>);

impl BlockJsonCache {
    /// Returns an empty cache of at most this many bytes.
    pub fn new(capacity: u64) -> Self {
        Self(Cache::new("block_json", capacity, ENTRY_SIZE))
    }

    /// Returns the metrics of the cache.
    pub fn metrics(&self) -> CacheMetrics {
        self.0.metrics()
    }

    /// Returns a part of the block with this hash, if it is cached.
    pub fn get(&self, hash: B256, part: BlockPart) -> Option<Bytes> {
        self.0.get(&(hash, part))
    }

    /// Caches a part of the block with this hash, unless it would evict many others.
    pub fn insert(&self, hash: B256, part: BlockPart, json: Bytes) {
        let size = json.len() as u64;
        if size <= self.0.capacity() / MAX_SHARE {
            self.0.insert((hash, part), json, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 24 << 20;

    #[test]
    fn a_cached_part_is_returned_for_its_block_only() {
        let cache = BlockJsonCache::new(BYTES);
        for part in [BlockPart::Hashes, BlockPart::Full, BlockPart::Receipts] {
            assert_eq!(cache.get(B256::with_last_byte(1), part), None);
            let json = Bytes::from(format!("{part:?}"));
            cache.insert(B256::with_last_byte(1), part, json.clone());
            assert_eq!(cache.get(B256::with_last_byte(1), part), Some(json));
        }
        assert_eq!(cache.get(B256::with_last_byte(2), BlockPart::Full), None);
    }

    #[test]
    fn the_cache_stays_within_its_byte_limit() {
        let cache = BlockJsonCache::new(BYTES);
        for number in 0..200_u8 {
            let (hash, json) = (B256::with_last_byte(number), Bytes::from(vec![number; 1 << 20]));
            cache.insert(hash, BlockPart::Full, json.clone());
            assert_eq!(cache.get(hash, BlockPart::Full).unwrap_or_else(|| json.clone()), json);
            assert!(cache.0.bytes() <= BYTES);
        }
    }

    #[test]
    fn a_giant_part_evicts_no_other() {
        let cache = BlockJsonCache::new(BYTES);
        let small: Vec<B256> = (0..8).map(B256::with_last_byte).collect();
        for hash in &small {
            cache.insert(*hash, BlockPart::Full, vec![1; 1 << 20].into());
        }
        for number in 100..110 {
            let giant = vec![7; usize::try_from(BYTES / MAX_SHARE).unwrap() + 1];
            cache.insert(B256::with_last_byte(number), BlockPart::Receipts, giant.into());
            assert_eq!(cache.get(B256::with_last_byte(number), BlockPart::Receipts), None);
        }
        assert!(small.iter().all(|hash| cache.get(*hash, BlockPart::Full).is_some()));
    }
}
