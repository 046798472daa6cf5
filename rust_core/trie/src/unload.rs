//! Releases nodes from memory that a store holds.
//!
//! A stub is loaded as of a block that later advances. It must therefore be valid for every snapshot
//! from the older one to this one. An equal hash does not ensure that: a value may have changed and
//! changed back in between. A branch that is the *same node in memory* never changed, and never moved,
//! since a branch that moves gets another prefix. Leaves move without being copied, so a leaf is
//! released only together with the branch above it.

use triomphe::Arc;

use crate::node::{Branch, Child, Head, Leaf, Node};

/// One portion of the work: replaces branches that have not changed since an older snapshot with stubs.
pub(crate) struct Unload<F> {
    /// First nibble of the paths that are processed.
    pub first: u8,
    /// `true` if branches become stubs; otherwise only values are processed.
    pub nodes: bool,
    /// Returns a smaller form of a value with the same encoding, given the older
    /// value. `None` leaves the value unchanged.
    pub value: F,
}

impl<F> Unload<F> {
    /// Returns the replacement of a node that is at the same path as `old`. `None` leaves the node unchanged.
    pub fn below<V>(&self, new: &Child<V>, old: &Child<V>, depth: usize) -> Option<Child<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        let node = match (&new.node, &old.node) {
            (Node::Leaf(new), Node::Leaf(old)) => Node::Leaf(self.leaf(new, old)?),
            (Node::Branch(new), Node::Branch(old)) if new.prefix() == old.prefix() => {
                Node::Branch(self.branch(new, old, depth)?)
            }
            _ => return None,
        };
        Some(Child { reference: new.reference, node })
    }

    fn leaf<V>(&self, new: &Leaf<V>, old: &Leaf<V>) -> Option<Arc<Leaf<V>>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        if new.key != old.key {
            return None;
        }
        let value = (self.value)(&new.value, &old.value)?;
        Some(Arc::new(Leaf { key: new.key.clone(), value }))
    }

    fn branch<V>(&self, new: &Branch<V>, old: &Branch<V>, depth: usize) -> Option<Branch<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        if depth == 0 && new.prefix().first().is_some_and(|nibble| *nibble != self.first) {
            return None;
        }
        let at = depth + new.prefix().len();
        let value = match (new.value(), old.value()) {
            (Some(new), Some(old)) => self.leaf(new, old),
            _ => None,
        };
        let mut changed = value.is_some();
        let mut children = Vec::with_capacity(new.children().len());
        for (nibble, child) in new.entries() {
            let looked_at = at > 0 || nibble == self.first;
            let less = old.child(nibble).filter(|_| looked_at).and_then(|old| self.child(child, old, at + 1));
            changed |= less.is_some();
            children.push(less.unwrap_or_else(|| child.clone()));
        }
        let value = value.or_else(|| new.value().cloned());
        let head = Head { prefix: new.prefix().into(), value, mask: new.mask() };
        changed.then(|| Branch::new(head, children.into_iter()))
    }

    fn child<V>(&self, new: &Child<V>, old: &Child<V>, depth: usize) -> Option<Child<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        match (&new.node, &old.node) {
            (Node::Branch(branch), Node::Branch(same)) if branch.is(same) => {
                let stored = self.nodes && new.reference.as_hash().is_some();
                stored.then_some(Child { reference: new.reference, node: Node::Stub })
            }
            _ => self.below(new, old, depth),
        }
    }
}
