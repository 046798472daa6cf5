//! Releases nodes from memory that a store holds.
//!
//! A stub is loaded as of a block that later advances. It must therefore be valid for every snapshot
//! from the older one to this one. An equal hash does not ensure that: a value may have changed and
//! changed back in between. A branch that is the *same node in memory* never changed, and never moved,
//! since a branch that moves gets another prefix. Leaves move without being copied, so a leaf is
//! released only together with the branch above it.

use triomphe::Arc;

use crate::node::{Branch, BranchHeader, Child, Leaf, Node};

/// Replacement of the branches that have not changed since an older snapshot with stubs.
pub(crate) struct Eviction<F> {
    /// First nibble of the paths that are processed; `None` for all paths.
    pub first_nibble: Option<u8>,
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
        // Few values have a smaller form, so the comparison of the keys is rarely needed.
        let value = (self.value)(&new.value, &old.value)?;
        (new.key == old.key).then(|| Arc::new(Leaf { key: new.key.clone(), value }))
    }

    fn evict_branch<V>(&self, new: &Branch<V>, old: &Branch<V>, depth: usize) -> Option<Branch<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        let is_in_portion = |nibble: u8| self.first_nibble.is_none_or(|first| nibble == first);
        if depth == 0 && new.prefix().first().is_some_and(|nibble| !is_in_portion(*nibble)) {
            return None;
        }
        let at = depth + new.prefix().len();
        let value = match (new.value(), old.value()) {
            (Some(new), Some(old)) => self.evict_leaf(new, old),
            _ => None,
        };
        // Most branches have nothing to release: their children are copied from the first release on.
        let mut children: Option<Vec<Child<V>>> = None;
        for (index, (nibble, child)) in new.entries().enumerate() {
            let evicted = old
                .child(nibble)
                .filter(|_| at > 0 || is_in_portion(nibble))
                .and_then(|old| self.evict_child(child, old, at + 1));
            match (evicted, &mut children) {
                (Some(evicted), Some(children)) => children.push(evicted),
                (Some(evicted), None) => {
                    let mut copied = Vec::with_capacity(new.children().len());
                    copied.extend_from_slice(&new.children()[..index]);
                    copied.push(evicted);
                    children = Some(copied);
                }
                (None, Some(children)) => children.push(child.clone()),
                (None, None) => {}
            }
        }
        if children.is_none() && value.is_none() {
            return None;
        }
        let children = children.unwrap_or_else(|| new.children().to_vec());
        let value = value.or_else(|| new.value().cloned());
        let head = BranchHeader { prefix: new.prefix().into(), value, mask: new.mask() };
        Some(Branch::new(head, children.into_iter()))
    }

    fn evict_child<V>(&self, new: &Child<V>, old: &Child<V>, depth: usize) -> Option<Child<V>>
    where
        F: Fn(&V, &V) -> Option<V>,
    {
        match (&new.node, &old.node) {
            (Node::Branch(branch), Node::Branch(same)) if branch.is_same_node(same) => {
                let stub = || Child { reference: new.reference, node: Node::Stub };
                new.reference.as_hash().map(|_| stub())
            }
            _ => self.evict_node(new, old, depth),
        }
    }
}
