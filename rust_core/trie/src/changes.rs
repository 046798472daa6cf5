//! Differences between two snapshots: the nodes that the newer one adds, and those that it no longer has.
//!
//! Both are walked in parallel, by path. The walk stops at equal
//! references, as nothing below them can differ.

use alloy_primitives::Bytes;

use crate::{
    Key, LoadError, NodePath, NodeSource, Value, encode,
    iter::TrieIter,
    load,
    node::{Branch, Child, Leaf, Node},
};

/// The change of the stored node at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeWrite {
    /// This node is now at the path, in the form that a [`NodeSource`] returns.
    Stored(Bytes),
    /// No separately stored node is at the path any more. Nodes below it
    /// stay, unless they have a change of their own.
    Gone,
    /// No node is at the path or anywhere below it any more.
    Cleared,
}

/// A path at which two snapshots differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    pub path: NodePath,
    pub write: NodeWrite,
}

/// The differences between two snapshots.
pub struct Changes<V> {
    /// Changed nodes in path order.
    pub nodes: Vec<NodeChange>,
    /// The new snapshot's values in nodes that differ, by key. Some may
    /// be equal to the value in the old snapshot.
    pub values: Vec<(Key, V)>,
    /// The old snapshot's values in nodes that differ or were removed, by key.
    pub former: Vec<(Key, V)>,
}

/// A comparison in progress.
pub(crate) struct Comparison<'s, V, S: ?Sized> {
    new_source: &'s S,
    old_source: &'s S,
    /// `true` to collect values as well.
    values: bool,
    path: Vec<u8>,
    changes: Changes<V>,
}

impl<'s, V: Value, S: NodeSource + ?Sized> Comparison<'s, V, S> {
    pub fn new(new_source: &'s S, old_source: &'s S, values: bool) -> Self {
        let changes = Changes { nodes: Vec::new(), values: Vec::new(), former: Vec::new() };
        Self { new_source, old_source, values, path: Vec::new(), changes }
    }

    /// Compares the nodes below the two roots.
    pub fn run(
        mut self,
        old: Option<&Child<V>>,
        new: Option<&Child<V>>,
    ) -> Result<Changes<V>, LoadError<S::Error>> {
        self.compare(old, new)?;
        Ok(self.changes)
    }

    /// Compares two nodes at the current path.
    fn compare(&mut self, old: Option<&Child<V>>, new: Option<&Child<V>>) -> Result<(), LoadError<S::Error>> {
        match (old, new) {
            (None, None) => Ok(()),
            (None, Some(new)) => self.added(new),
            (Some(old), None) => self.removed(old),
            (Some(old), Some(new)) if old.reference == new.reference => Ok(()),
            (Some(old), Some(new)) => {
                let (old_node, new_node) =
                    (self.open(old, self.old_source)?, self.open(new, self.new_source)?);
                if self.is_stored(new) {
                    self.write_node(&new_node);
                } else if self.is_stored(old) {
                    self.write(NodeWrite::Gone);
                }
                self.inside((&old_node, 0), (&new_node, 0))
            }
        }
    }

    /// Compares two nodes and their subtrees, each from the given number of nibbles into its prefix on.
    /// The current path leads to that position.
    fn inside(
        &mut self,
        (old, old_skip): (&Node<V>, usize),
        (new, new_skip): (&Node<V>, usize),
    ) -> Result<(), LoadError<S::Error>> {
        let (Node::Branch(old_branch), Node::Branch(new_branch)) = (old, new) else {
            self.gone(old, old_skip)?;
            return self.came(new, new_skip);
        };
        let (old_rest, new_rest) = (&old_branch.prefix()[old_skip..], &new_branch.prefix()[new_skip..]);
        let shared = old_rest.iter().zip(new_rest).take_while(|(a, b)| a == b).count();
        let depth = self.path.len();
        self.path.extend_from_slice(&old_rest[..shared]);
        match (old_rest.get(shared), new_rest.get(shared)) {
            (None, None) => {
                self.value_of(old, false);
                self.value_of(new, true);
                for nibble in 0..16 {
                    let (old, new) = (old_branch.child(nibble), new_branch.child(nibble));
                    self.at(nibble, |walk| walk.compare(old, new))?;
                }
            }
            (None, Some(&on)) => {
                self.value_of(old, false);
                self.against_new_prefix(old_branch, on, (new, new_skip + shared))?;
            }
            (Some(&on), None) => {
                self.value_of(new, true);
                self.against_old_prefix((old, old_skip + shared), new_branch, on)?;
            }
            // The prefixes diverge: neither node has anything below the other. The
            // smaller nibble goes first, in path order.
            (Some(old_on), Some(new_on)) if old_on < new_on => {
                self.gone(old, old_skip + shared)?;
                self.came(new, new_skip + shared)?;
            }
            (Some(_), Some(_)) => {
                self.came(new, new_skip + shared)?;
                self.gone(old, old_skip + shared)?;
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
                None if nibble == on => self.came(new, skip)?,
                None => {}
                Some(child) => self.at(nibble, |walk| {
                    if nibble != on {
                        return walk.removed(child);
                    }
                    if walk.is_stored(child) {
                        walk.write(NodeWrite::Gone);
                    }
                    let node = walk.open(child, walk.old_source)?;
                    walk.inside((&node, 0), (new, skip + 1))
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
                None if nibble == on => self.gone(old, skip)?,
                None => {}
                Some(child) => self.at(nibble, |walk| {
                    if nibble != on {
                        return walk.added(child);
                    }
                    let node = walk.open(child, walk.new_source)?;
                    if walk.is_stored(child) {
                        walk.write_node(&node);
                    }
                    walk.inside((old, skip + 1), (&node, 0))
                })?,
            }
        }
        Ok(())
    }

    /// Records a node of the new snapshot at a path where the old one has none.
    fn added(&mut self, child: &Child<V>) -> Result<(), LoadError<S::Error>> {
        let node = self.open(child, self.new_source)?;
        if self.is_stored(child) {
            self.write_node(&node);
        }
        self.came(&node, 0)
    }

    /// Records a node of the old snapshot at a path where the new one has none.
    fn removed(&mut self, child: &Child<V>) -> Result<(), LoadError<S::Error>> {
        if self.is_stored(child) {
            self.write(NodeWrite::Cleared);
        }
        if self.values {
            for former in TrieIter::new(&self.path, Some(child), self.old_source) {
                self.changes.former.push(former?);
            }
        }
        Ok(())
    }

    /// Records the content of a node of the new snapshot from `skip` nibbles into
    /// its prefix; none of it has a counterpart.
    fn came(&mut self, node: &Node<V>, skip: usize) -> Result<(), LoadError<S::Error>> {
        self.value_of(node, true);
        self.below(node, skip, Self::added)
    }

    /// Records the content of a node of the old snapshot from `skip` nibbles into
    /// its prefix; none of it has a counterpart.
    fn gone(&mut self, node: &Node<V>, skip: usize) -> Result<(), LoadError<S::Error>> {
        self.value_of(node, false);
        self.below(node, skip, Self::removed)
    }

    /// Calls `each` for every child of a node that has no counterpart.
    fn below(
        &mut self,
        node: &Node<V>,
        skip: usize,
        each: impl Fn(&mut Self, &Child<V>) -> Result<(), LoadError<S::Error>>,
    ) -> Result<(), LoadError<S::Error>> {
        let Node::Branch(branch) = node else { return Ok(()) };
        let depth = self.path.len();
        self.path.extend_from_slice(&branch.prefix()[skip..]);
        for (nibble, child) in branch.entries() {
            self.at(nibble, |walk| each(walk, child))?;
        }
        self.path.truncate(depth);
        Ok(())
    }

    /// Runs `then` one nibble further down.
    fn at<T>(&mut self, nibble: u8, then: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(nibble);
        let result = then(self);
        self.path.pop();
        result
    }

    fn open(&self, child: &Child<V>, source: &S) -> Result<Node<V>, LoadError<S::Error>> {
        match &child.node {
            Node::Stub => load::one(&self.path, child.reference, source),
            node => Ok(node.clone()),
        }
    }

    /// Returns `true` if the node is stored by itself and not inline in its parent.
    fn is_stored(&self, child: &Child<V>) -> bool {
        self.path.is_empty() || child.reference.as_hash().is_some()
    }

    fn value_of(&mut self, node: &Node<V>, new: bool) {
        let leaf: Option<&Leaf<V>> = match node {
            Node::Leaf(leaf) => Some(leaf),
            Node::Branch(branch) => branch.value().map(|leaf| &**leaf),
            Node::Stub => None,
        };
        if self.values
            && let Some(leaf) = leaf
        {
            let values = if new { &mut self.changes.values } else { &mut self.changes.former };
            values.push((leaf.key.clone(), leaf.value.clone()));
        }
    }

    fn write_node(&mut self, node: &Node<V>) {
        self.write(NodeWrite::Stored(encode::stored(node, self.path.len())));
    }

    fn write(&mut self, write: NodeWrite) {
        self.changes.nodes.push(NodeChange { path: self.path.clone().into(), write });
    }
}
