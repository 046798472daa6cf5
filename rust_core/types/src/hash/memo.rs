//! Cache of key hashes.

use std::cell::Cell;

use alloy_primitives::{B256, keccak256};

/// One slot per value of a key's last byte, which is almost random in addresses and in mapping slots.
const PLACES: usize = 256;

/// Cache of keccak-256 hashes of keys of `LENGTH` bytes. Each key has one slot and evicts its
/// previous entry. Accounts and slots that many transactions or calls use are hashed once; no input
/// makes hashing slower than without the cache.
pub(super) struct Memo<const LENGTH: usize> {
    places: [Cell<Option<Place<LENGTH>>>; PLACES],
}

/// A key and its hash.
type Place<const LENGTH: usize> = ([u8; LENGTH], B256);

impl<const LENGTH: usize> Memo<LENGTH> {
    pub const fn new() -> Self {
        Self { places: [const { Cell::new(None) }; PLACES] }
    }

    pub fn hash(&self, key: &[u8; LENGTH]) -> B256 {
        let place = &self.places[usize::from(key[LENGTH - 1])];
        match place.get() {
            Some((known, hash)) if known == *key => hash,
            _ => {
                let hash = keccak256(key);
                place.set(Some((*key, hash)));
                hash
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_share_a_place_have_their_own_hashes() {
        let memo = Memo::new();
        for turn in 0..3 {
            for key in [[0; 20], [0xff; 20], [[1; 10], [0; 10]].concat().try_into().unwrap_or_default()] {
                assert_eq!(memo.hash(&key), keccak256(key), "{key:?} in turn {turn}");
                assert_eq!(memo.hash(&key), keccak256(key), "{key:?} again");
            }
        }
    }
}
