//! Releases nodes from memory that a store holds.
//!
//! A stub is loaded as of a block that later advances. It must therefore be valid for every snapshot
//! from the older one to this one. An equal hash does not ensure that: a value may have changed and
//! changed back in between. A branch that is the *same node in memory* never changed, and never moved,
//! since a branch that moves gets another prefix. Leaves move without being copied, so a leaf is
//! released only together with the branch above it.

use triomphe::Arc;

use crate::node::{Branch, BranchHeader, Child, Leaf, Node};

/// One portion of the work: replaces branches that have not changed since an older snapshot with stubs.
pub(crate) struct Eviction<F> {
    /// First nibble of the paths that are processed.
    pub first_nibble: u8,
    /// `true` if branches become stubs; otherwise only values are processed.
    pub evict_nodes: bool,
    /// Returns a smaller form of a value with the same encoding, given the older
    /// value. `None` leaves the value unchanged.
    pub value: F,
}

impl<F> Eviction<F> {
    /// Returns the replacement of a node that is at the same path as `old`. `None` leaves the node unchanged.
    pub fn evict_node<V>(&self, new: &Child<V>, old: &Child<V>, depth: usize) -> Option<Child<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        let node = match (&new.node, &old.node) {
            (Node::Leaf(new), Node::Leaf(old)) => Node::Leaf(self.evict_leaf(new, old)?),
            (Node::Branch(new), Node::Branch(old)) if new.prefix() == old.prefix() => {
                Node::Branch(self.evict_branch(new, old, depth)?)
            }
            _ => return None,
        };
        Some(Child { reference: new.reference, node })
    }

    fn evict_leaf<V>(&self, new: &Leaf<V>, old: &Leaf<V>) -> Option<Arc<Leaf<V>>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        if new.key != old.key {
            return None;
        }
        let value = (self.value)(&new.value, &old.value)?;
        Some(Arc::new(Leaf { key: new.key.clone(), value }))
    }

    fn evict_branch<V>(&self, new: &Branch<V>, old: &Branch<V>, depth: usize) -> Option<Branch<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        if depth == 0 && new.prefix().first().is_some_and(|nibble| *nibble != self.first_nibble) {
            return None;
        }
        let at = depth + new.prefix().len();
        let value = match (new.value(), old.value()) {
            (Some(new), Some(old)) => self.evict_leaf(new, old),
            _ => None,
        };
        let mut changed = value.is_some();
        let mut children = Vec::with_capacity(new.children().len());
        for (nibble, child) in new.entries() {
            let is_in_portion = at > 0 || nibble == self.first_nibble;
            let evicted = old
                .child(nibble)
                .filter(|_| is_in_portion)
                .and_then(|old| self.evict_child(child, old, at + 1));
            changed |= evicted.is_some();
            children.push(evicted.unwrap_or_else(|| child.clone()));
        }
        let value = value.or_else(|| new.value().cloned());
        let head = BranchHeader { prefix: new.prefix().into(), value, mask: new.mask() };
        changed.then(|| Branch::new(head, children.into_iter()))
    }

    fn evict_child<V>(&self, new: &Child<V>, old: &Child<V>, depth: usize) -> Option<Child<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        match (&new.node, &old.node) {
            (Node::Branch(branch), Node::Branch(same)) if branch.is_same_node(same) => {
                let stored = self.evict_nodes && new.reference.as_hash().is_some();
                stored.then_some(Child { reference: new.reference, node: Node::Stub })
            }
            _ => self.evict_node(new, old, depth),
        }
    }
}
