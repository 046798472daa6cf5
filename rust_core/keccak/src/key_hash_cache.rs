//! Cache of key hashes.

use std::cell::Cell;

use alloy_primitives::{B256, keccak256};

/// One slot per value of a key's last byte, which is almost random in addresses and in mapping slots.
const SLOTS: usize = 256;

/// Cache of keccak-256 hashes of keys of `LENGTH` bytes. Each key has one slot and evicts its
/// previous entry. Accounts and slots that many transactions or calls use are hashed once; no input
/// makes hashing slower than without the cache.
pub(crate) struct KeyHashCache<const LENGTH: usize> {
    slots: [Cell<Option<CachedHash<LENGTH>>>; SLOTS],
}

/// A key and its hash.
type CachedHash<const LENGTH: usize> = ([u8; LENGTH], B256);

impl<const LENGTH: usize> KeyHashCache<LENGTH> {
    pub const fn new() -> Self {
        Self { slots: [const { Cell::new(None) }; SLOTS] }
    }

    pub fn hash(&self, key: &[u8; LENGTH]) -> B256 {
        let slot = &self.slots[usize::from(key[LENGTH - 1])];
        match slot.get() {
            Some((cached, hash)) if cached == *key => hash,
            _ => {
                let hash = keccak256(key);
                slot.set(Some((*key, hash)));
                hash
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_share_a_slot_get_correct_hashes() {
        let cache = KeyHashCache::new();
        for round in 0..3 {
            for key in [[0; 20], [0xff; 20], [[1; 10], [0; 10]].concat().try_into().unwrap_or_default()] {
                assert_eq!(cache.hash(&key), keccak256(key), "{key:?} in round {round}");
                assert_eq!(cache.hash(&key), keccak256(key), "{key:?} again");
            }
        }
    }
}
