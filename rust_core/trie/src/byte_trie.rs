//! A byte-to-byte trie that changes in place.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes};

use crate::{
    key::{Key, KeyTooLong},
    trie::Trie,
};

/// A trie from bytes to bytes that changes in place. Changes are buffered until a result needs their hashes.
#[derive(Clone, Default)]
pub struct ByteTrie {
    trie: Trie<Bytes>,
    pending: BTreeMap<Key, Option<Bytes>>,
}

impl ByteTrie {
    /// Sets a value; an empty one deletes the key.
    ///
    /// # Errors
    /// Returns an error if the key is too long.
    pub fn set(&mut self, key: &[u8], value: impl Into<Bytes>) -> Result<(), KeyTooLong> {
        let value = value.into();
        self.pending.insert(Key::new(key)?, (!value.is_empty()).then_some(value));
        Ok(())
    }

    /// Deletes a key, if present.
    pub fn remove(&mut self, key: &[u8]) {
        // A key that is too long cannot be in the trie.
        if let Ok(key) = Key::new(key) {
            self.pending.insert(key, None);
        }
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&Bytes> {
        let waiting = self.pending.get(&Key::new(key).ok()?);
        waiting.map_or_else(|| self.trie.get(key).value(), Option::as_ref)
    }

    /// Returns the root hash.
    pub fn root(&mut self) -> B256 {
        self.current_trie().root()
    }

    /// Returns the number of keys that have a value.
    pub fn len(&mut self) -> usize {
        self.current_trie().len().expect("nothing was unloaded")
    }

    pub fn is_empty(&mut self) -> bool {
        self.current_trie().is_empty()
    }

    /// Returns a proof of a key's value, or of its absence. See [`Trie::prove`].
    pub fn prove(&mut self, key: &[u8]) -> Vec<Bytes> {
        self.current_trie().prove(key)
    }

    /// Returns the current trie, with all changes hashed.
    pub fn current_trie(&mut self) -> &Trie<Bytes> {
        if !self.pending.is_empty() {
            self.trie = self.trie.apply(std::mem::take(&mut self.pending).into_iter().collect());
        }
        &self.trie
    }
}

/// Returns the root over keys and values in any order. The last of
/// equal keys wins, and an empty value deletes.
///
/// # Errors
/// Returns an error if a key is too long.
pub fn trie_root<K: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (K, Bytes)>) -> Result<B256, KeyTooLong> {
    let change =
        |(key, value): (K, Bytes)| Ok((Key::new(key.as_ref())?, Some(value).filter(|v| !v.is_empty())));
    let changes = pairs.into_iter().map(change).collect::<Result<Vec<_>, _>>()?;
    Ok(Trie::default().apply(changes).root())
}
