//! Iteration in key order.

use triomphe::Arc;

use crate::{
    key::Key,
    load,
    node::{Child, Leaf, Node, Value},
    source::{LoadError, NodeSource},
};

/// Iterates over all keys and values. Nodes that are not in memory are loaded but not cached.
pub(crate) struct TrieIter<V, S> {
    /// Remaining nodes with their paths; the next one is last.
    stack: Vec<(Vec<u8>, Child<V>)>,
    /// The value of the branch that was opened last: it comes before the branch's children.
    value: Option<Arc<Leaf<V>>>,
    source: S,
}

impl<V, S> TrieIter<V, S> {
    /// Returns an iterator over the subtree at `path`.
    pub fn new(path: &[u8], child: Option<&Child<V>>, source: S) -> Self {
        let start = child.map(|child| (path.to_vec(), child.clone()));
        Self { stack: start.into_iter().collect(), value: None, source }
    }
}

impl<V: Value, S: NodeSource> TrieIter<V, S> {
    fn step(&mut self) -> Result<Option<(Key, V)>, LoadError<S::Error>> {
        loop {
            if let Some(leaf) = self.value.take() {
                return Ok(Some((leaf.key.clone(), leaf.value.clone())));
            }
            let Some((path, child)) = self.stack.pop() else { return Ok(None) };
            let node = match child.node {
                Node::Stub => load::load_node(&path, child.reference, &self.source)?,
                node => node,
            };
            if let Node::Branch(branch) = &node {
                self.value = branch.value().cloned();
                let path = [&path, branch.prefix()].concat();
                let below = branch.entries().map(|(nibble, child)| ([&path[..], &[nibble]].concat(), child));
                let start = self.stack.len();
                self.stack.extend(below.map(|(path, child)| (path, child.clone())));
                self.stack[start..].reverse();
            } else if let Node::Leaf(leaf) = node {
                self.value = Some(leaf);
            }
        }
    }
}

impl<V: Value, S: NodeSource> Iterator for TrieIter<V, S> {
    type Item = Result<(Key, V), LoadError<S::Error>>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.stack.clear();
        }
        step.transpose()
    }
}
