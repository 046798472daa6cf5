//! Differences between two snapshots: the nodes that the newer one adds, and those that it no longer has.
//!
//! Both are walked in parallel, by path. The walk stops at equal
//! references, as nothing below them can differ.

use alloy_primitives::Bytes;

use crate::{
    encode,
    iter::TrieIter,
    key::Key,
    load,
    node::{Branch, Child, Leaf, Node, Value},
    source::{LoadError, NodePath, NodeSource},
};

/// The change of the stored node at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeChangeKind {
    /// This node is now at the path, in the form that a [`NodeSource`] returns.
    Stored(Bytes),
    /// No separately stored node is at the path any more. Nodes below it
    /// stay, unless they have a change of their own.
    Removed,
    /// No node is at the path or anywhere below it any more.
    Cleared,
}

/// A path at which two snapshots differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    pub path: NodePath,
    pub write: NodeChangeKind,
}

/// The differences between two snapshots.
pub struct TrieDiff<V> {
    /// Changed nodes in path order.
    pub nodes: Vec<NodeChange>,
    /// The new snapshot's values in nodes that differ, by key. Some may
    /// be equal to the value in the old snapshot.
    pub new_values: Vec<(Key, V)>,
    /// The old snapshot's values in nodes that differ or were removed, by key.
    pub old_values: Vec<(Key, V)>,
}

/// A comparison in progress.
pub(crate) struct Comparison<'s, V, S: ?Sized> {
    new_source: &'s S,
    old_source: &'s S,
    /// `true` to collect values as well.
    values: bool,
    path: Vec<u8>,
    changes: TrieDiff<V>,
}

impl<'s, V: Value, S: NodeSource + ?Sized> Comparison<'s, V, S> {
    pub fn new(new_source: &'s S, old_source: &'s S, values: bool) -> Self {
        let changes = TrieDiff { nodes: Vec::new(), new_values: Vec::new(), old_values: Vec::new() };
        Self { new_source, old_source, values, path: Vec::new(), changes }
    }

    /// Compares the nodes below the two roots.
    pub fn run(
        mut self,
        old: Option<&Child<V>>,
        new: Option<&Child<V>>,
    ) -> Result<TrieDiff<V>, LoadError<S::Error>> {
        self.compare(old, new)?;
        Ok(self.changes)
    }

    /// Compares two nodes at the current path.
    fn compare(&mut self, old: Option<&Child<V>>, new: Option<&Child<V>>) -> Result<(), LoadError<S::Error>> {
        match (old, new) {
            (None, None) => Ok(()),
            (None, Some(new)) => self.record_added(new),
            (Some(old), None) => self.record_removed(old),
            (Some(old), Some(new)) if old.reference == new.reference => Ok(()),
            (Some(old), Some(new)) => {
                let (old_node, new_node) =
                    (self.load_child(old, self.old_source)?, self.load_child(new, self.new_source)?);
                if self.is_stored(new) {
                    self.record_stored(&new_node);
                } else if self.is_stored(old) {
                    self.record_change(NodeChangeKind::Removed);
                }
                self.compare_contents((&old_node, 0), (&new_node, 0))
            }
        }
    }

    /// Compares two nodes and their subtrees, each from the given number of nibbles into its prefix on.
    /// The current path leads to that position.
    fn compare_contents(
        &mut self,
        (old, old_skip): (&Node<V>, usize),
        (new, new_skip): (&Node<V>, usize),
    ) -> Result<(), LoadError<S::Error>> {
        let (Node::Branch(old_branch), Node::Branch(new_branch)) = (old, new) else {
            self.removed_content(old, old_skip)?;
            return self.added_content(new, new_skip);
        };
        let (old_suffix, new_suffix) = (&old_branch.prefix()[old_skip..], &new_branch.prefix()[new_skip..]);
        let shared = old_suffix.iter().zip(new_suffix).take_while(|(a, b)| a == b).count();
        let depth = self.path.len();
        self.path.extend_from_slice(&old_suffix[..shared]);
        match (old_suffix.get(shared), new_suffix.get(shared)) {
            (None, None) => {
                self.record_value(old, false);
                self.record_value(new, true);
                for nibble in 0..16 {
                    let (old, new) = (old_branch.child(nibble), new_branch.child(nibble));
                    self.descend(nibble, |walk| walk.compare(old, new))?;
                }
            }
            (None, Some(&on)) => {
                self.record_value(old, false);
                self.against_new_prefix(old_branch, on, (new, new_skip + shared))?;
            }
            (Some(&on), None) => {
                self.record_value(new, true);
                self.against_old_prefix((old, old_skip + shared), new_branch, on)?;
            }
            // The prefixes diverge: neither node has anything below the other. The
            // smaller nibble goes first, in path order.
            (Some(old_on), Some(new_on)) if old_on < new_on => {
                self.removed_content(old, old_skip + shared)?;
                self.added_content(new, new_skip + shared)?;
            }
            (Some(_), Some(_)) => {
                self.added_content(new, new_skip + shared)?;
                self.removed_content(old, old_skip + shared)?;
            }
        }
        self.path.truncate(depth);
        Ok(())
    }

    /// Compares the children of an old branch with a new node whose prefix continues with `on`.
    fn against_new_prefix(
        &mut self,
        old: &Branch<V>,
        on: u8,
        (new, skip): (&Node<V>, usize),
    ) -> Result<(), LoadError<S::Error>> {
        for nibble in 0..16 {
            match old.child(nibble) {
                None if nibble == on => self.added_content(new, skip)?,
                None => {}
                Some(child) => self.descend(nibble, |walk| {
                    if nibble != on {
                        return walk.record_removed(child);
                    }
                    if walk.is_stored(child) {
                        walk.record_change(NodeChangeKind::Removed);
                    }
                    let node = walk.load_child(child, walk.old_source)?;
                    walk.compare_contents((&node, 0), (new, skip + 1))
                })?,
            }
        }
        Ok(())
    }

    /// Compares the children of a new branch with an old node whose prefix continues with `on`.
    fn against_old_prefix(
        &mut self,
        (old, skip): (&Node<V>, usize),
        new: &Branch<V>,
        on: u8,
    ) -> Result<(), LoadError<S::Error>> {
        for nibble in 0..16 {
            match new.child(nibble) {
                None if nibble == on => self.removed_content(old, skip)?,
                None => {}
                Some(child) => self.descend(nibble, |walk| {
                    if nibble != on {
                        return walk.record_added(child);
                    }
                    let node = walk.load_child(child, walk.new_source)?;
                    if walk.is_stored(child) {
                        walk.record_stored(&node);
                    }
                    walk.compare_contents((old, skip + 1), (&node, 0))
                })?,
            }
        }
        Ok(())
    }

    /// Records a node of the new snapshot at a path where the old one has none.
    fn record_added(&mut self, child: &Child<V>) -> Result<(), LoadError<S::Error>> {
        let node = self.load_child(child, self.new_source)?;
        if self.is_stored(child) {
            self.record_stored(&node);
        }
        self.added_content(&node, 0)
    }

    /// Records a node of the old snapshot at a path where the new one has none.
    fn record_removed(&mut self, child: &Child<V>) -> Result<(), LoadError<S::Error>> {
        if self.is_stored(child) {
            self.record_change(NodeChangeKind::Cleared);
        }
        if self.values {
            for value in TrieIter::new(&self.path, Some(child), self.old_source) {
                self.changes.old_values.push(value?);
            }
        }
        Ok(())
    }

    /// Records the content of a node of the new snapshot from `skip` nibbles into
    /// its prefix; none of it has a counterpart.
    fn added_content(&mut self, node: &Node<V>, skip: usize) -> Result<(), LoadError<S::Error>> {
        self.record_value(node, true);
        self.visit_children(node, skip, Self::record_added)
    }

    /// Records the content of a node of the old snapshot from `skip` nibbles into
    /// its prefix; none of it has a counterpart.
    fn removed_content(&mut self, node: &Node<V>, skip: usize) -> Result<(), LoadError<S::Error>> {
        self.record_value(node, false);
        self.visit_children(node, skip, Self::record_removed)
    }

    /// Calls `each` for every child of a node that has no counterpart.
    fn visit_children(
        &mut self,
        node: &Node<V>,
        skip: usize,
        each: impl Fn(&mut Self, &Child<V>) -> Result<(), LoadError<S::Error>>,
    ) -> Result<(), LoadError<S::Error>> {
        let Node::Branch(branch) = node else { return Ok(()) };
        let depth = self.path.len();
        self.path.extend_from_slice(&branch.prefix()[skip..]);
        for (nibble, child) in branch.entries() {
            self.descend(nibble, |walk| each(walk, child))?;
        }
        self.path.truncate(depth);
        Ok(())
    }

    /// Runs `then` one nibble further down.
    fn descend<T>(&mut self, nibble: u8, then: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(nibble);
        let result = then(self);
        self.path.pop();
        result
    }

    fn load_child(&self, child: &Child<V>, source: &S) -> Result<Node<V>, LoadError<S::Error>> {
        match &child.node {
            Node::Stub => load::load_node(&self.path, child.reference, source),
            node => Ok(node.clone()),
        }
    }

    /// Returns `true` if the node is stored by itself and not inline in its parent.
    fn is_stored(&self, child: &Child<V>) -> bool {
        self.path.is_empty() || child.reference.as_hash().is_some()
    }

    fn record_value(&mut self, node: &Node<V>, new: bool) {
        let leaf: Option<&Leaf<V>> = match node {
            Node::Leaf(leaf) => Some(leaf),
            Node::Branch(branch) => branch.value().map(|leaf| &**leaf),
            Node::Stub => None,
        };
        if self.values
            && let Some(leaf) = leaf
        {
            let values = if new { &mut self.changes.new_values } else { &mut self.changes.old_values };
            values.push((leaf.key.clone(), leaf.value.clone()));
        }
    }

    fn record_stored(&mut self, node: &Node<V>) {
        self.record_change(NodeChangeKind::Stored(encode::stored(node, self.path.len())));
    }

    fn record_change(&mut self, write: NodeChangeKind) {
        self.changes.nodes.push(NodeChange { path: self.path.clone().into(), write });
    }
}
