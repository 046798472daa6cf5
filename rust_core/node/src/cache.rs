//! A few values that were asked for lately.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Values by key within a bound on their weights together; who was not asked for the longest goes first. Lists of the
/// length that is kept here are searched faster than hashed.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    entries: Mutex<Entries<K, V>>,
    greatest: usize,
}

#[derive(Debug)]
struct Entries<K, V> {
    /// Key, value, weight; the one asked for last is last.
    list: VecDeque<(K, V, usize)>,
    weight: usize,
}

impl<K: PartialEq, V: Clone> Cache<K, V> {
    /// An empty cache of values that weigh `greatest` together, or of one that weighs more.
    pub fn new(greatest: usize) -> Self {
        Self { entries: Mutex::new(Entries { list: VecDeque::new(), weight: 0 }), greatest }
    }

    /// The value under `key`.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut entries = self.entries.lock();
        let at = entries.list.iter().rposition(|(found, ..)| found == key)?;
        let entry = entries.list.remove(at)?;
        let value = entry.1.clone();
        entries.list.push_back(entry);
        Some(value)
    }

    /// Keeps a value; one that is there under the same key stays.
    pub fn insert(&self, key: K, value: V, weight: usize) {
        let mut dropped = Vec::new();
        let mut entries = self.entries.lock();
        if entries.list.iter().any(|(found, ..)| *found == key) {
            return;
        }
        entries.weight += weight;
        entries.list.push_back((key, value, weight));
        while entries.weight > self.greatest && entries.list.len() > 1 {
            let Some(oldest) = entries.list.pop_front() else { break };
            entries.weight -= oldest.2;
            dropped.push(oldest);
        }
        // A block takes a while to be freed: not under the lock.
        drop(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unasked_goes_first() {
        let cache = Cache::new(3);
        for key in 1..=3 {
            cache.insert(key, key * 10, 1);
        }
        assert_eq!(cache.get(&1), Some(10));
        cache.insert(4, 40, 1);
        assert_eq!([1, 2, 3, 4].map(|key| cache.get(&key)), [Some(10), None, Some(30), Some(40)]);
        cache.insert(5, 50, 9);
        assert_eq!([1, 3, 4, 5].map(|key| cache.get(&key)), [None, None, None, Some(50)], "one always stays");
        cache.insert(5, 51, 9);
        assert_eq!(cache.get(&5), Some(50));
    }
}
