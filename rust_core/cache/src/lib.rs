//! Layer 0: the cache of all layers. It has a name, a capacity in bytes, and counters of hits and misses.
//!
//! Design: `docs/design/decisions/caches-and-memory.md`.

mod counters;

use std::{fmt, hash::Hash, sync::Arc};

use alloy_primitives::map::DefaultHashBuilder;
use quick_cache::{
    OptionsBuilder, Weighter,
    sync::{Cache as Inner, DefaultLifecycle},
};

use counters::Counters;

/// Size of the bookkeeping of an entry, in bytes.
const ENTRY_OVERHEAD: u64 = 32;

/// Fraction of the capacity for values that were read again. A larger value is not stored: see [`Cache::largest`].
const HOT_SHARE: f64 = 0.97;

/// Values by key, bounded by the sum of their sizes in bytes. Values that are read again stay longest. A value
/// above [`Self::largest`] is not stored; a capacity of 0 disables the cache.
pub struct Cache<K, V> {
    name: &'static str,
    capacity: u64,
    entry_size: u64,
    /// `None` if the cache is disabled.
    inner: Option<Inner<K, (V, u64), StoredWeight, DefaultHashBuilder>>,
    counters: Arc<Counters>,
}

/// Metrics of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheMetrics {
    /// Name of the cache, unique in a node.
    pub name: &'static str,
    pub hits: u64,
    pub misses: u64,
    /// Total size of the entries.
    pub bytes: u64,
    /// Maximum of `bytes`; 0 if the cache is disabled.
    pub capacity: u64,
}

/// Weighter that returns the size stored with each value.
#[derive(Clone)]
struct StoredWeight;

impl<K, V> Weighter<K, (V, u64)> for StoredWeight {
    fn weight(&self, _: &K, (_, weight): &(V, u64)) -> u64 {
        *weight
    }
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// Returns an empty cache of at most `capacity` bytes. `entry_size` is the expected size of an entry in
    /// bytes; the tables are allocated for that many entries.
    pub fn new(name: &'static str, capacity: u64, entry_size: u64) -> Self {
        Self::with_counters(name, capacity, entry_size, Arc::default())
    }

    /// Returns an empty cache with the same name, capacity and counters, which replaces this one.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self::with_counters(self.name, self.capacity, self.entry_size, self.counters.clone())
    }

    fn with_counters(name: &'static str, capacity: u64, entry_size: u64, counters: Arc<Counters>) -> Self {
        let entries = usize::try_from(capacity / entry_size.max(1)).unwrap_or(usize::MAX).max(1);
        let inner = (capacity > 0).then(|| {
            // One shard: each of several would get a fraction of the bound, and a value has to fit into one.
            let options = OptionsBuilder::new()
                .shards(1)
                .weight_capacity(capacity)
                .hot_allocation(HOT_SHARE)
                .estimated_items_capacity(entries)
                .build()
                .expect("both capacities are set");
            let hasher = DefaultHashBuilder::default();
            Inner::with_options(options, StoredWeight, hasher, DefaultLifecycle::default())
        });
        Self { name, capacity, entry_size, inner, counters }
    }

    /// Returns the value cached under `key`, and counts a hit or a miss.
    pub fn get(&self, key: &K) -> Option<V> {
        self.get_if(key, |_| true)
    }

    /// Returns the value cached under `key` if it is `valid`; otherwise counts a miss.
    pub fn get_if(&self, key: &K, valid: impl FnOnce(&V) -> bool) -> Option<V> {
        let cached = self.inner.as_ref()?.get(key).map(|(value, _)| value).filter(valid);
        self.counters.count(cached.is_some());
        cached
    }

    /// Inserts a value; other values may be evicted for it. `heap_size` is the size of what key and value own
    /// outside themselves, in bytes.
    pub fn insert(&self, key: K, value: V, heap_size: u64) {
        if let Some(inner) = &self.inner {
            inner.insert(key, (value, Self::INLINE_SIZE.saturating_add(heap_size)));
        }
    }

    /// Size of an entry whose key and value own nothing outside themselves, in bytes.
    pub const INLINE_SIZE: u64 = size_of::<(K, (V, u64))>() as u64 + ENTRY_OVERHEAD;

    /// Returns the largest `heap_size` of a value that is stored.
    pub fn largest(&self) -> u64 {
        (self.capacity - self.capacity / 16).saturating_sub(Self::INLINE_SIZE)
    }

    /// Returns the maximum total size of the entries in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the total size of the entries in bytes.
    pub fn bytes(&self) -> u64 {
        self.inner.as_ref().map_or(0, Inner::weight)
    }

    /// Returns the metrics of the cache.
    pub fn metrics(&self) -> CacheMetrics {
        let (hits, misses) = self.counters.totals();
        CacheMetrics { name: self.name, hits, misses, bytes: self.bytes(), capacity: self.capacity }
    }
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: u64 = Cache::<u64, u64>::INLINE_SIZE;

    #[test]
    fn entries_stay_within_the_capacity() {
        let capacity = 4 * (ENTRY + 7);
        let cache = Cache::new("test", capacity, ENTRY);
        for key in 0..100_u64 {
            cache.insert(key, key * 10, 1 + key % 7);
            assert_eq!(cache.get(&key), Some(key * 10), "the newest is there");
            assert!(cache.bytes() <= capacity);
        }
        cache.insert(200, 2000, capacity);
        assert_eq!(cache.get(&200), None, "it is too large");
        assert!((0..100).any(|key| cache.get(&key).is_some()), "and the others stay");
    }

    #[test]
    fn the_largest_value_is_stored() {
        for capacity in [2 * ENTRY, 1 << 10, 1 << 20, 24 << 20] {
            let cache = Cache::new("test", capacity, ENTRY);
            for key in 0..3_u64 {
                cache.insert(key, key, cache.largest());
                assert_eq!(cache.get(&key), Some(key), "{capacity}");
            }
        }
    }

    #[test]
    fn a_value_read_again_is_not_evicted() {
        let cache = Cache::new("test", 8 * ENTRY, ENTRY);
        cache.insert(0, 0, 0);
        for key in 1..1_000_u64 {
            assert_eq!(cache.get(&0), Some(0_u64));
            cache.insert(key, key, 0);
        }
    }

    #[test]
    fn hits_misses_and_bytes_are_counted_by_all_threads() {
        let cache = Cache::new("test", 8 * ENTRY, ENTRY);
        cache.insert(1_u64, 1_u64, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        assert_eq!(cache.get(&1), Some(1));
                        assert_eq!(cache.get(&2), None);
                        assert_eq!(cache.get_if(&1, |_| false), None);
                    }
                });
            }
        });
        let expected =
            CacheMetrics { name: "test", hits: 400, misses: 800, bytes: ENTRY, capacity: 8 * ENTRY };
        assert_eq!(cache.metrics(), expected);
        assert_eq!(cache.renewed().metrics(), CacheMetrics { bytes: 0, ..expected });
    }

    #[test]
    fn a_capacity_of_zero_disables_the_cache() {
        let cache = Cache::new("test", 0, ENTRY);
        cache.insert(1_u64, 1_u64, 0);
        assert_eq!(cache.get(&1), None);
        let expected = CacheMetrics { name: "test", hits: 0, misses: 0, bytes: 0, capacity: 0 };
        assert_eq!(cache.metrics(), expected);
    }
}
