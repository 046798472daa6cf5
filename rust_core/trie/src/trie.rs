//! The trie: an immutable snapshot and the batch of changes that makes the next one.

use alloy_primitives::{B256, b256, keccak256};
use rayon::prelude::*;

use crate::{
    change::Change,
    get,
    iter::TrieIter,
    key::Key,
    lookup::Lookup,
    node::{Child, Node, Value},
    parallel_update,
    source::{LoadError, NodeSource},
    update_plan::{ChildSlot, UpdatePlan},
};

/// Root of an empty trie: keccak-256 of the empty string's RLP.
pub const EMPTY_ROOT: B256 = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// Number of changes from which on the subtrees of the root are processed in parallel.
const PARALLEL_UPDATE: usize = 256;

/// Number of changes from which on they are sorted in parallel.
const PARALLEL_SORT: usize = 4096;

/// A Merkle-Patricia trie, as one immutable snapshot.
///
/// Subtrees may be stubs: their nodes are not in memory but in a [`NodeSource`], by path. A
/// lookup that reaches a stub returns [`Lookup::Stub`]; [`Trie::load`] loads the nodes that a
/// lookup, a proof or a batch of changes needs.
pub struct Trie<V> {
    pub(crate) top: Option<Child<V>>,
    pub(crate) root: B256,
    /// Number of keys; `None` if the trie began as a stub.
    pub(crate) length: Option<usize>,
    /// `true` if the trie may contain stubs.
    pub(crate) partial: bool,
}

impl<V> Default for Trie<V> {
    fn default() -> Self {
        Self { top: None, root: EMPTY_ROOT, length: Some(0), partial: false }
    }
}

impl<V> Clone for Trie<V> {
    fn clone(&self) -> Self {
        Self { top: self.top.clone(), root: self.root, length: self.length, partial: self.partial }
    }
}

impl<V: Value> Trie<V> {
    /// Returns the root hash, which is already computed.
    pub fn root(&self) -> B256 {
        self.root
    }

    /// Returns the number of keys that have a value; `None` if unknown, because some were never in memory.
    pub fn len(&self) -> Option<usize> {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    /// Returns the value under `key`.
    pub fn get(&self, key: &[u8]) -> Lookup<'_, V> {
        get::get(self.top.as_ref(), key)
    }

    /// Returns the values under many keys. Several walks descend
    /// together, so that their memory accesses overlap.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Lookup<'_, V>> {
        let mut values = Vec::with_capacity(keys.len());
        get::get_many(self.top.as_ref(), 0, keys, AsRef::as_ref, |value| values.push(value));
        values
    }

    /// Iterates over all keys and values in key order. Nodes that are not in
    /// memory are loaded and checked, but not cached.
    pub fn iter<S: NodeSource>(
        &self,
        source: S,
    ) -> impl Iterator<Item = Result<(Key, V), LoadError<S::Error>>> + use<V, S> {
        TrieIter::new(&[], self.top(), source)
    }

    /// Returns the snapshot after `changes`, with its root. The last of several changes of one key wins.
    ///
    /// # Panics
    /// Panics if a change reaches a stub: [`Trie::load`] the keys first.
    #[must_use]
    pub fn apply(&self, changes: Vec<Change<V>>) -> Self {
        let mut changes = sort_changes(changes);
        if changes.len() >= PARALLEL_UPDATE
            && let Some(next) = self.apply_parallel(&mut changes)
        {
            return next;
        }
        get::prefetch(self.top.as_ref(), 0, &changes);
        let mut plan = UpdatePlan::default();
        let Some(slot) = plan.update(self.top.as_ref(), 0, &mut changes) else {
            return self.clone();
        };
        let added = plan.added;
        self.with_top(plan.hash_nodes(vec![slot]).pop().flatten(), added)
    }

    /// Applies changes to many small tries at once, hashing their nodes together.
    ///
    /// # Panics
    /// Panics under the same condition as [`Trie::apply`].
    #[must_use]
    pub fn apply_all(updates: Vec<(Self, Vec<Change<V>>)>) -> Vec<Self> {
        let mut plan = UpdatePlan::default();
        let mut slots = Vec::with_capacity(updates.len());
        let mut tries = Vec::with_capacity(updates.len());
        for (trie, changes) in updates {
            let slot = plan.update(trie.top.as_ref(), 0, &mut sort_changes(changes));
            let unchanged = trie.top.clone().map_or(ChildSlot::Empty, ChildSlot::Hashed);
            slots.push(slot.unwrap_or(unchanged));
            tries.push((trie, std::mem::take(&mut plan.added)));
        }
        let tops = plan.hash_nodes(slots).into_iter();
        tries.into_iter().zip(tops).map(|((trie, added), top)| trie.with_top(top, added)).collect()
    }

    pub(crate) fn top(&self) -> Option<&Child<V>> {
        self.top.as_ref()
    }

    fn with_top(&self, top: Option<Child<V>>, added: isize) -> Self {
        let root = top.as_ref().map_or(EMPTY_ROOT, |top| {
            // The root is hashed even if a parent would hold it inline.
            top.reference.as_hash().unwrap_or_else(|| keccak256(top.reference.as_slice()))
        });
        let length = self
            .length
            .map(|length| length.checked_add_signed(added).expect("no more keys are deleted than there are"));
        Self { top, root, length, partial: self.partial }
    }

    /// Applies changes to the subtrees of the root in parallel. Returns `None` if the root is a
    /// leaf, a stub, or a branch with a prefix.
    fn apply_parallel(&self, changes: &mut [Change<V>]) -> Option<Self> {
        let branch = match self.top.as_ref().map(|top| &top.node) {
            None => None,
            Some(Node::Branch(branch)) if branch.prefix().is_empty() => Some(branch),
            Some(_) => return None,
        };
        let next = parallel_update::apply(branch, changes);
        Some(next.map_or_else(|| self.clone(), |(top, added)| self.with_top(top, added)))
    }
}

/// Sorts the changes by key; the last of equal keys stays.
fn sort_changes<V: Value>(mut changes: Vec<Change<V>>) -> Vec<Change<V>> {
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
