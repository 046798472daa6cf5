//! Lets go of nodes that a store has.
//!
//! A stub is read as of a block that later moves on, so it must hold for every snapshot between the older one and this.
//! An equal hash does not say that: a value may have been another in between and be back. A branch that is the *same
//! node in memory* never changed, and never moved, since a branch that moves gets another prefix. Leaves move as they
//! are, so a leaf goes with the branch above it, or not yet.

use triomphe::Arc;

use crate::node::{Branch, Child, Head, Leaf, Node};

/// One portion of the work: what has not changed since an older snapshot becomes stubs.
pub(crate) struct Unload<F> {
    /// The first nibble of the paths that are looked at.
    pub first: u8,
    /// Whether nodes become stubs, or only values are looked at.
    pub nodes: bool,
    /// Makes a value smaller, given its older one, so that it encodes as before. `None`: it stays.
    pub value: F,
}

impl<F> Unload<F> {
    /// What becomes of a node that hangs at the same path as `old`. `None`: it stays.
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
