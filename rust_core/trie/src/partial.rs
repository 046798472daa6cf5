//! Tries of which a part is not in memory.

use alloy_primitives::B256;

use crate::{
    Changes, EMPTY_ROOT, LoadError, NodeSource, Trie, Value, Want,
    changes::Comparison,
    load,
    node::{Child, Node, Reference},
    unload::Unload,
};

impl<V: Value> Trie<V> {
    /// The trie with this root, of which nothing is in memory yet.
    pub fn stub(root: B256) -> Self {
        if root == EMPTY_ROOT {
            return Self::default();
        }
        let top = Child { reference: Reference::hash(root), node: Node::Stub };
        Self { top: Some(top), root, length: None, partial: true }
    }

    /// The same trie with all nodes in memory that lookups, proofs and changes of these keys need. Each node is checked
    /// against the hash that its parent holds.
    ///
    /// `source` has the nodes of the version from which the stubs of this trie are.
    pub fn load<S: NodeSource + ?Sized>(
        &self,
        wants: impl IntoIterator<Item = Want>,
        source: &S,
    ) -> Result<Self, LoadError<S::Error>> {
        let Some(top) = self.top.as_ref().filter(|_| self.partial) else {
            return Ok(self.clone());
        };
        let mut wants: Vec<Want> = wants.into_iter().collect();
        wants.sort_unstable();
        wants.dedup_by(|later, earlier| {
            let same = later.key == earlier.key;
            earlier.deleted |= same && later.deleted;
            same
        });
        let top = load::load(top, &wants, source)?;
        Ok(top.map_or_else(|| self.clone(), |top| Self { top: Some(top), ..self.clone() }))
    }

    /// What this snapshot has and `old` has not: nodes by path, and what is gone. With `values`, the values that differ
    /// as well.
    ///
    /// Walks only where the references differ. Stubs there are loaded, from the source of their own snapshot.
    pub fn changes<S: NodeSource + ?Sized>(
        &self,
        source: &S,
        old: &Self,
        old_source: &S,
        values: bool,
    ) -> Result<Changes<V>, LoadError<S::Error>> {
        let comparison = Comparison::new(source, old_source, values);
        if self.root == old.root { comparison.run(None, None) } else { comparison.run(old.top(), self.top()) }
    }

    /// The trie in which the branches are stubs that have not changed since `old`, from which this trie descends:
    /// those whose path begins with the nibble `first`, so that the work comes in sixteen portions. With `nodes` unset
    /// only values are looked at. `None`: there is nothing to let go of.
    ///
    /// The stubs hold for every snapshot from `old` to this one, so they may be loaded from the nodes of any of them.
    ///
    /// `value` may make a value smaller that stays in memory, given the value that `old` has under the key, as long as
    /// it encodes to the same bytes; `None` leaves it.
    ///
    /// The root node itself stays, and leaves beside changed nodes stay until those have not changed since `old`
    /// either. Costs what differs between the two, plus the nodes that become stubs directly.
    #[must_use]
    pub fn unload(
        &self,
        old: &Self,
        first: u8,
        nodes: bool,
        value: impl Fn(&V, &V) -> Option<V>,
    ) -> Option<Self> {
        let top = Unload { first, nodes, value }.below(self.top()?, old.top()?, 0)?;
        Some(Self { top: Some(top), partial: true, ..self.clone() })
    }
}
