//! Iteration in the order of the keys.

use crate::{
    Key, Trie, Value,
    node::{Child, Leaf, Node},
};

/// Iterator over the keys and values of a trie.
pub struct Iter<'t, V> {
    /// What is left to visit, the next on top.
    stack: Vec<&'t Child<V>>,
    /// The value of the branch that was opened last: it comes before the branch's children.
    value: Option<&'t Leaf<V>>,
}

impl<'t, V> Iter<'t, V> {
    pub(crate) fn new(top: Option<&'t Child<V>>) -> Self {
        Self { stack: top.into_iter().collect(), value: None }
    }
}

impl<'t, V> Iterator for Iter<'t, V> {
    type Item = (&'t Key, &'t V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(leaf) = self.value.take() {
                return Some((&leaf.key, &leaf.value));
            }
            match &self.stack.pop()?.node {
                Node::Leaf(leaf) => return Some((&leaf.key, &leaf.value)),
                Node::Branch(branch) => {
                    self.value = branch.value().map(|leaf| &**leaf);
                    self.stack.extend(branch.children().iter().rev());
                }
            }
        }
    }
}

impl<'t, V: Value> IntoIterator for &'t Trie<V> {
    type Item = (&'t Key, &'t V);
    type IntoIter = Iter<'t, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
