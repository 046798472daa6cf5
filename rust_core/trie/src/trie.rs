//! The trie: an immutable snapshot and the batch of changes that makes the next one.

use alloy_primitives::{B256, b256, keccak256};
use rayon::prelude::*;

use crate::{
    Iter, Key, Value,
    build::{Build, Slot},
    fork,
    node::{Child, Node},
    walk,
};

/// Root of a trie with nothing in it: keccak-256 of the empty string's RLP.
pub const EMPTY_ROOT: B256 = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// A key and its new value; `None` deletes it.
pub type Change<V> = (Key, Option<V>);

/// From this many changes on, the subtrees of the root are worked on in parallel.
const FORK: usize = 256;

/// From this many changes on, they are sorted in parallel.
const PARALLEL_SORT: usize = 4096;

/// A Merkle-Patricia trie, as one immutable snapshot.
pub struct Trie<V> {
    top: Option<Child<V>>,
    root: B256,
    length: usize,
}

impl<V> Default for Trie<V> {
    fn default() -> Self {
        Self { top: None, root: EMPTY_ROOT, length: 0 }
    }
}

impl<V> Clone for Trie<V> {
    fn clone(&self) -> Self {
        Self { top: self.top.clone(), root: self.root, length: self.length }
    }
}

impl<V: Value> Trie<V> {
    /// The root hash. Already computed.
    pub fn root(&self) -> B256 {
        self.root
    }

    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Option<&V> {
        walk::one(self.top.as_ref(), key)
    }

    /// The values under many keys. Several walks go down side by side, so that they wait for memory together.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Option<&V>> {
        let mut values = Vec::with_capacity(keys.len());
        walk::many(self.top.as_ref(), 0, keys, AsRef::as_ref, |value| values.push(value));
        values
    }

    /// All values in the order of their keys.
    pub fn iter(&self) -> Iter<'_, V> {
        Iter::new(self.top())
    }

    /// The snapshot after `changes`, with its root. Of several changes of one key the last counts.
    #[must_use]
    pub fn apply(&self, changes: Vec<Change<V>>) -> Self {
        let mut changes = in_order(changes);
        if changes.len() >= FORK
            && let Some(next) = self.apply_forked(&mut changes)
        {
            return next;
        }
        walk::fetch(self.top.as_ref(), 0, &changes);
        let mut build = Build::default();
        let Some(slot) = build.update(self.top.as_ref(), 0, &mut changes) else {
            return self.clone();
        };
        let added = build.added;
        self.next(build.seal(vec![slot]).pop().flatten(), added)
    }

    /// Applies changes to many small tries at once: their nodes are hashed together.
    #[must_use]
    pub fn apply_all(work: Vec<(Self, Vec<Change<V>>)>) -> Vec<Self> {
        let mut build = Build::default();
        let mut slots = Vec::with_capacity(work.len());
        let mut before = Vec::with_capacity(work.len());
        for (trie, changes) in work {
            let slot = build.update(trie.top.as_ref(), 0, &mut in_order(changes));
            let kept = trie.top.clone().map_or(Slot::Empty, Slot::Sealed);
            slots.push(slot.unwrap_or(kept));
            before.push((trie, std::mem::take(&mut build.added)));
        }
        let tops = build.seal(slots).into_iter();
        before.into_iter().zip(tops).map(|((trie, added), top)| trie.next(top, added)).collect()
    }

    pub(crate) fn top(&self) -> Option<&Child<V>> {
        self.top.as_ref()
    }

    fn next(&self, top: Option<Child<V>>, added: isize) -> Self {
        let root = top.as_ref().map_or(EMPTY_ROOT, |top| {
            // The root is hashed even when a parent would hold it inline.
            top.reference.as_hash().unwrap_or_else(|| keccak256(top.reference.as_slice()))
        });
        let length = self.length.checked_add_signed(added).expect("no more keys are deleted than there are");
        Self { top, root, length }
    }

    /// Works on the subtrees below the root in parallel. `None` when there is no plain branch to fork at.
    fn apply_forked(&self, changes: &mut [Change<V>]) -> Option<Self> {
        let branch = match self.top.as_ref().map(|top| &top.node) {
            None => None,
            Some(Node::Branch(branch)) if branch.prefix().is_empty() => Some(branch),
            Some(_) => return None,
        };
        let next = fork::apply(branch, changes);
        Some(next.map_or_else(|| self.clone(), |(top, added)| self.next(top, added)))
    }
}

/// Sorts the changes by key; of equal keys the last stays.
fn in_order<V: Value>(mut changes: Vec<Change<V>>) -> Vec<Change<V>> {
    if !changes.is_sorted_by(|a, b| a.0 < b.0) {
        if changes.len() < PARALLEL_SORT {
            changes.sort_by(|a, b| a.0.cmp(&b.0));
        } else {
            changes.par_sort_by(|a, b| a.0.cmp(&b.0));
        }
        changes.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
    }
    changes
}
