//! The trie: an immutable snapshot and the batch of changes that makes the next one.

use alloy_primitives::{B256, b256, keccak256};
use rayon::prelude::*;

use crate::{
    Key, LoadError, Lookup, NodeSource, Value,
    build::{Build, Slot},
    fork,
    iter::Walk,
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
///
/// Parts of it may be stubs: their nodes are not in memory but in a [`NodeSource`], by path. A lookup that reaches one
/// says so; [`Trie::load`] brings in what a lookup, a proof or a batch of changes needs.
pub struct Trie<V> {
    pub(crate) top: Option<Child<V>>,
    pub(crate) root: B256,
    /// Unknown once a trie began as a stub.
    pub(crate) length: Option<usize>,
    /// Whether there may be stubs.
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
    /// The root hash. Already computed.
    pub fn root(&self) -> B256 {
        self.root
    }

    /// How many keys have a value; `None` if that is not known, because some of them never were in memory.
    pub fn len(&self) -> Option<usize> {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    /// The value under `key`.
    pub fn get(&self, key: &[u8]) -> Lookup<'_, V> {
        walk::one(self.top.as_ref(), key)
    }

    /// The values under many keys. Several walks go down side by side, so that they wait for memory together.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Lookup<'_, V>> {
        let mut values = Vec::with_capacity(keys.len());
        walk::many(self.top.as_ref(), 0, keys, AsRef::as_ref, |value| values.push(value));
        values
    }

    /// All keys and values in the order of the keys. What is not in memory is loaded, checked, and not kept.
    pub fn iter<S: NodeSource>(
        &self,
        source: S,
    ) -> impl Iterator<Item = Result<(Key, V), LoadError<S::Error>>> + use<V, S> {
        Walk::new(&[], self.top(), source)
    }

    /// The snapshot after `changes`, with its root. Of several changes of one key the last counts.
    ///
    /// # Panics
    /// When a change reaches a stub: [`Trie::load`] the keys before.
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
    ///
    /// # Panics
    /// As [`Trie::apply`].
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
        let length = self
            .length
            .map(|length| length.checked_add_signed(added).expect("no more keys are deleted than there are"));
        Self { top, root, length, partial: self.partial }
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
