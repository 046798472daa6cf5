//! Cache of recently read state values.

use std::hash::Hash;

use alloy_primitives::{Address, B256, U256};
use foreseal_cache::{Cache, CacheMetrics};
use foreseal_primitives::Account;
use revm_bytecode::Bytecode;

use super::read::Version;
use crate::{cache_sizes::StateCacheSizes, meta::Progress};

/// Size in bytes of an analysed code without its bytes and its jump table, on the heap.
const CODE_OVERHEAD: u64 = 192;
/// Expected size of a code in bytes.
const CODE_SIZE: u64 = 64 << 10;

/// Cache that all states share, so that the store is read once for many readers of a value.
#[derive(Debug)]
pub(crate) struct StateCache {
    pub accounts: Values<Address, Option<Account>>,
    pub slots: Values<(Address, U256), U256>,
    codes: Cache<B256, Bytecode>,
}

impl StateCache {
    pub fn new(sizes: &StateCacheSizes) -> Self {
        Self {
            accounts: Values::new("accounts", sizes.accounts),
            slots: Values::new("slots", sizes.slots),
            codes: Cache::new("code", sizes.code, CODE_SIZE),
        }
    }

    /// Returns the metrics of all caches.
    pub fn metrics(&self) -> [CacheMetrics; 3] {
        [self.accounts.0.metrics(), self.slots.0.metrics(), self.codes.metrics()]
    }

    /// Returns the analysed code with this hash.
    pub fn code(&self, hash: &B256) -> Option<Bytecode> {
        self.codes.get(hash)
    }

    pub fn insert_code(&self, hash: B256, code: Bytecode) {
        let length = code.len() as u64;
        // The jump table has a bit for each byte of code.
        self.codes.insert(hash, code, CODE_OVERHEAD + length + length / 8);
    }
}

/// Values by key, each in the version that was read last.
#[derive(Debug)]
pub(crate) struct Values<K, V>(Cache<K, CachedValue<V>>);

/// A value and its range of validity: one generation, from the block that wrote it to
/// the newest block as of which it was read.
#[derive(Clone, Debug)]
struct CachedValue<V> {
    value: V,
    generation: u64,
    since: u64,
    until: u64,
}

impl<K: Eq + Hash, V: Clone> Values<K, V> {
    fn new(name: &'static str, capacity: u64) -> Self {
        Self(Cache::new(name, capacity, Cache::<K, CachedValue<V>>::INLINE_SIZE))
    }

    /// Returns the value as of block `at` of a generation, if it is cached.
    pub fn get(&self, key: &K, generation: u64, at: u64) -> Option<V> {
        let valid =
            |kept: &CachedValue<V>| kept.generation == generation && (kept.since..=kept.until).contains(&at);
        self.0.get_if(key, valid).map(|kept| kept.value)
    }

    /// Caches a value that was read as of block `at`, in a transaction with this progress.
    pub fn insert(&self, key: K, at: u64, progress: &Progress, Version { value, since }: Version<V>) {
        // A value as of a future block may still change.
        if progress.head.is_some_and(|head| at <= head.number) {
            self.0.insert(key, CachedValue { value, generation: progress.generation, since, until: at }, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::StoredHead;

    const HEAD: u64 = 9;

    /// Reads `values`, where block 4 wrote 40 and block 7 wrote 70, each plus
    /// `generation`. Returns `true` for a cache miss.
    fn lookup(values: &Values<u8, u64>, generation: u64, at: u64) -> (u64, bool) {
        let hash = B256::ZERO;
        let head = Some(StoredHead { number: HEAD, hash });
        let progress =
            Progress { head, journal_sequence: 0, generation, logs: 0, proofs_from: 0, steps_from: 0 };
        if let Some(value) = values.get(&0, generation, at) {
            return (value, false);
        }
        let since = [7, 4, 0].into_iter().find(|since| *since <= at).expect("0 is the least");
        let value = since * 10 + generation;
        values.insert(0, at, &progress, Version { value, since });
        (value, true)
    }

    #[test]
    fn a_value_is_cached_from_write_to_newest_read() {
        let values = Values::new("test", 4096);
        let cases =
            [(6, 40, true), (6, 40, false), (4, 40, false), (5, 40, false), (7, 70, true), (6, 40, true)];
        for (at, value, read) in cases {
            assert_eq!(lookup(&values, 0, at), (value, read), "as of {at}");
        }
        assert_eq!(lookup(&values, 0, 3), (0, true), "nobody had written it");
        assert_eq!(lookup(&values, 1, 3), (1, true), "another chain has a value of its own");
    }

    #[test]
    fn the_number_of_cached_small_codes_is_bounded() {
        let sizes = StateCacheSizes { code: 4 << 20, ..StateCacheSizes::default() };
        let recent = StateCache::new(&sizes);
        let capacity = sizes.code / CODE_OVERHEAD;
        let hash = |number: u64| B256::left_padding_from(&number.to_be_bytes());
        for number in 0..capacity + 1_000 {
            recent.insert_code(hash(number), Bytecode::new_legacy(vec![0].into()));
        }
        assert!(recent.codes.bytes() <= sizes.code);
        let retained =
            (0..capacity + 1_000).filter(|number| recent.code(&hash(*number)).is_some()).count() as u64;
        assert!((capacity / 2..capacity).contains(&retained), "{retained} of {capacity}");
    }

    #[test]
    fn a_value_read_at_a_future_block_is_not_cached() {
        let values = Values::new("test", 4096);
        assert_eq!(lookup(&values, 0, HEAD + 1), (70, true));
        assert_eq!(lookup(&values, 0, HEAD + 1), (70, true));
    }
}
