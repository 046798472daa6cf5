//! Cache of blocks rendered as JSON.
//!
//! A hash determines the whole content of a block, sealed or pending. An entry therefore never becomes stale,
//! and can be shared without a copy.

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_cache::{Cache, CacheMetrics};

/// Expected size of an entry in bytes.
const ENTRY_SIZE: u64 = 24 << 10;

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

    /// Returns a cached part of the block with this hash.
    pub fn get(&self, hash: B256, part: BlockPart) -> Option<Bytes> {
        self.0.get(&(hash, part))
    }

    /// Caches a part of the block with this hash.
    pub fn insert(&self, hash: B256, part: BlockPart, json: Bytes) {
        let size = json.len() as u64;
        self.0.insert((hash, part), json, size);
    }

    /// Returns a part of the block with this hash. Calls `write` if the part is not cached.
    pub fn get_or_write(&self, hash: B256, part: BlockPart, write: impl FnOnce() -> Vec<u8>) -> Bytes {
        let key = (hash, part);
        if let Some(json) = self.0.get(&key) {
            return json;
        }
        // Drops spare capacity, which would otherwise occupy memory as long as the entry.
        let json = Bytes::from(write().into_boxed_slice());
        self.0.insert(key, json.clone(), json.len() as u64);
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 24 << 20;

    #[test]
    fn a_cached_block_is_not_rendered_again() {
        let (rendered, mut written) = (BlockJsonCache::new(BYTES), 0);
        for _ in 0..3 {
            for part in [BlockPart::Hashes, BlockPart::Full, BlockPart::Receipts] {
                let json = rendered.get_or_write(B256::with_last_byte(1), part, || {
                    written += 1;
                    format!("{part:?}").into_bytes()
                });
                assert_eq!(json, format!("{part:?}"));
            }
        }
        assert_eq!(written, 3);
        assert_eq!(
            rendered.get_or_write(B256::with_last_byte(2), BlockPart::Full, || b"other".to_vec()),
            "other"
        );
    }

    #[test]
    fn the_cache_stays_within_its_byte_limit() {
        let rendered = BlockJsonCache::new(BYTES);
        for number in 0..200_u8 {
            let json = rendered
                .get_or_write(B256::with_last_byte(number), BlockPart::Full, || vec![number; 1 << 20]);
            assert_eq!((json.len(), json[0]), (1 << 20, number));
            assert!(rendered.0.bytes() <= BYTES);
        }
        let large = usize::try_from(BYTES).unwrap() + 1;
        assert_eq!(
            rendered.get_or_write(B256::ZERO, BlockPart::Full, || vec![7; large]).len(),
            large,
            "not kept, but given"
        );
        assert!(rendered.0.bytes() <= BYTES);
    }
}
