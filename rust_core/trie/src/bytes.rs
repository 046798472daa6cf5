//! A trie of plain bytes that changes in place.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes};

use crate::{Key, KeyTooLong, Trie};

/// A trie from bytes to bytes that changes in place. Changes wait until something is asked that needs them hashed.
#[derive(Clone, Default)]
pub struct ByteTrie {
    trie: Trie<Bytes>,
    waiting: BTreeMap<Key, Option<Bytes>>,
}

impl ByteTrie {
    /// Sets a value; an empty one deletes the key.
    ///
    /// # Errors
    /// When the key is too long.
    pub fn set(&mut self, key: &[u8], value: impl Into<Bytes>) -> Result<(), KeyTooLong> {
        let value = value.into();
        self.waiting.insert(Key::new(key)?, (!value.is_empty()).then_some(value));
        Ok(())
    }

    /// Deletes a key. It need not be there.
    pub fn remove(&mut self, key: &[u8]) {
        // A key too long to be a key is not there.
        if let Ok(key) = Key::new(key) {
            self.waiting.insert(key, None);
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&Bytes> {
        let waiting = self.waiting.get(&Key::new(key).ok()?);
        waiting.map_or_else(|| self.trie.get(key).value(), Option::as_ref)
    }

    /// The root hash.
    pub fn root(&mut self) -> B256 {
        self.snapshot().root()
    }

    /// How many keys have a value.
    pub fn len(&mut self) -> usize {
        self.snapshot().len().expect("nothing was unloaded")
    }

    pub fn is_empty(&mut self) -> bool {
        self.snapshot().is_empty()
    }

    /// Proof of a key's value, or of its absence. See [`Trie::prove`].
    pub fn prove(&mut self, key: &[u8]) -> Vec<Bytes> {
        self.snapshot().prove(key)
    }

    /// The trie as it is now, with everything hashed.
    pub fn snapshot(&mut self) -> &Trie<Bytes> {
        if !self.waiting.is_empty() {
            self.trie = self.trie.apply(std::mem::take(&mut self.waiting).into_iter().collect());
        }
        &self.trie
    }
}

/// The root over keys and values, in any order; of equal keys the last counts, and an empty value deletes.
///
/// # Errors
/// When a key is too long.
pub fn trie_root<K: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (K, Bytes)>) -> Result<B256, KeyTooLong> {
    let change =
        |(key, value): (K, Bytes)| Ok((Key::new(key.as_ref())?, Some(value).filter(|v| !v.is_empty())));
    let changes = pairs.into_iter().map(change).collect::<Result<Vec<_>, _>>()?;
    Ok(Trie::default().apply(changes).root())
}
