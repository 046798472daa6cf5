//! Tries that are only partly in memory.

use alloy_primitives::B256;

use crate::{
    changes::{Comparison, TrieDiff},
    evict::Eviction,
    load::{self, RequiredKey, Threads},
    node::{Child, Node, Reference, Value},
    source::{LoadError, NodeSource},
    trie::{EMPTY_ROOT, Trie},
};

impl<V: Value> Trie<V> {
    /// Returns the trie with this root, without any node in memory.
    pub fn from_root(root: B256) -> Self {
        if root == EMPTY_ROOT {
            return Self::default();
        }
        let top = Child { reference: Reference::hash(root), node: Node::Stub };
        Self { top: Some(top), root, length: None, partial: true }
    }

    /// Returns the same trie with all nodes in memory that lookups, proofs and changes of these keys need.
    /// Each node is checked against the hash that its parent holds.
    ///
    /// `source` has the nodes of the version to which the stubs of this trie belong.
    pub fn load<S: NodeSource + ?Sized>(
        &self,
        required: impl IntoIterator<Item = RequiredKey>,
        source: &S,
    ) -> Result<Self, LoadError<S::Error>> {
        self.load_on(Threads::Own, required, source)
    }

    /// Performs [`Self::load`] on the thread pool: for updates of many keys, which all readers wait for.
    pub fn load_in_parallel<S: NodeSource + ?Sized>(
        &self,
        required: impl IntoIterator<Item = RequiredKey>,
        source: &S,
    ) -> Result<Self, LoadError<S::Error>> {
        self.load_on(Threads::Pool, required, source)
    }

    fn load_on<S: NodeSource + ?Sized>(
        &self,
        threads: Threads,
        required: impl IntoIterator<Item = RequiredKey>,
        source: &S,
    ) -> Result<Self, LoadError<S::Error>> {
        let Some(top) = self.top.as_ref().filter(|_| self.partial) else {
            return Ok(self.clone());
        };
        let mut required: Vec<RequiredKey> = required.into_iter().collect();
        required.sort_unstable();
        required.dedup_by(|later, earlier| {
            let same = later.key == earlier.key;
            earlier.deleted |= same && later.deleted;
            same
        });
        let top = load::load(top, &required, source, threads)?;
        Ok(top.map_or_else(|| self.clone(), |top| Self { top: Some(top), ..self.clone() }))
    }

    /// Returns the differences of this snapshot from `old`: added and removed nodes by path.
    /// With `values`, also the values that differ.
    ///
    /// Walks only the subtrees whose references differ. Stubs there are
    /// loaded from the source of their own snapshot.
    pub fn diff_from<S: NodeSource + ?Sized>(
        &self,
        source: &S,
        old: &Self,
        old_source: &S,
        values: bool,
    ) -> Result<TrieDiff<V>, LoadError<S::Error>> {
        let comparison = Comparison::new(source, old_source, values);
        if self.root == old.root { comparison.run(None, None) } else { comparison.run(old.top(), self.top()) }
    }

    /// Returns the trie with stubs in place of the branches that have not changed since `old`, an
    /// ancestor of this trie. With a `first_nibble`, only branches whose path begins with it are processed,
    /// which divides the work into sixteen portions. Returns `None` if there is nothing to release.
    ///
    /// The stubs are valid for every snapshot from `old` to this one, so they may
    /// be loaded from the nodes of any of them.
    ///
    /// `value` may return a smaller form of a value that stays in memory, given the value under the same key
    /// in `old`. The result must encode to the same bytes; `None` leaves the value unchanged.
    ///
    /// The root node stays in memory. Leaves next to changed nodes also stay, until those nodes
    /// have not changed since `old` either. The cost is the difference between the two tries,
    /// plus the nodes that become stubs directly.
    #[must_use]
    pub fn evict_unchanged(
        &self,
        old: &Self,
        first_nibble: Option<u8>,
        value: impl Fn(&V, &V) -> Option<V>,
    ) -> Option<Self> {
        let top = Eviction { first_nibble, value }.evict_node(self.top()?, old.top()?, 0)?;
        Some(Self { top: Some(top), partial: true, ..self.clone() })
    }
}
