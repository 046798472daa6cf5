//! A bounded cache of recently used values.

use std::{fmt, hash::Hash};

use alloy_primitives::map::DefaultHashBuilder;
use quick_cache::{
    OptionsBuilder, Weighter,
    sync::{Cache as Inner, DefaultLifecycle},
};

/// Values by key, bounded by the sum of their weights. Values that are read again stay longest. A value that
/// weighs more than the bound is not stored.
pub struct Cache<K, V>(Inner<K, (V, u64), Given, DefaultHashBuilder>);

/// Weighter that returns the weight stored with each value.
#[derive(Clone)]
struct Given;

impl<K, V> Weighter<K, (V, u64)> for Given {
    fn weight(&self, _: &K, (_, weight): &(V, u64)) -> u64 {
        *weight
    }
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// Returns an empty cache whose values weigh at most `greatest` in
    /// total. It is sized for about `number` values.
    pub fn new(greatest: u64, number: usize) -> Self {
        // One shard: each of several would get a fraction of the bound, and a value has to fit into one.
        let options = OptionsBuilder::new()
            .shards(1)
            .weight_capacity(greatest)
            .estimated_items_capacity(number)
            .build()
            .expect("both capacities are set");
        let hasher = DefaultHashBuilder::default();
        Self(Inner::with_options(options, Given, hasher, DefaultLifecycle::default()))
    }

    /// Returns the value cached under `key`.
    pub fn get(&self, key: &K) -> Option<V> {
        self.0.get(key).map(|(value, _)| value)
    }

    /// Inserts a value; other values may be evicted for it.
    pub fn insert(&self, key: K, value: V, weight: u64) {
        self.0.insert(key, (value, weight));
    }

    /// Returns the total weight of the cached values.
    pub fn weight(&self) -> u64 {
        self.0.weight()
    }
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_within_their_weight() {
        let cache = Cache::new(30, 8);
        for key in 0..100 {
            cache.insert(key, key * 10, 1 + key % 7);
            assert_eq!(cache.get(&key), Some(key * 10), "the newest is there");
            assert!(cache.weight() <= 30);
        }
        cache.insert(200, 2000, 31);
        assert_eq!(cache.get(&200), None, "it is too heavy");
        assert!((0..100).any(|key| cache.get(&key).is_some()), "and the others stay");
    }

    #[test]
    fn what_is_asked_for_again_stays() {
        let cache = Cache::new(8, 8);
        cache.insert(0, 0, 1);
        for key in 1..1_000 {
            assert_eq!(cache.get(&0), Some(0));
            cache.insert(key, key, 1);
        }
    }
}
