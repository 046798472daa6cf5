//! A minimal source of nodes by path and version.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use alloy_primitives::Bytes;
use foreseal_trie::{InMemory, NodeChange, NodeChangeKind, NodePath, NodeSource, Trie};
use proptest::sample::Index;

/// Nodes of all versions; `None` means that the path has no node from that version on.
#[derive(Default)]
pub struct Nodes(BTreeMap<(NodePath, u64), Option<Bytes>>);

impl Nodes {
    /// Returns the nodes of a trie that is in memory, as version 1.
    pub fn from_trie(trie: &Trie<Vec<u8>>) -> Self {
        let changes =
            trie.diff_from(&InMemory, &Trie::default(), &InMemory, false).expect("nothing is loaded");
        let mut nodes = Self::default();
        nodes.write(1, &changes.nodes);
        nodes
    }

    pub fn at(&self, version: u64) -> Version<'_> {
        Version { nodes: self, number: version, reads: AtomicUsize::new(0) }
    }

    pub fn write(&mut self, version: u64, changes: &[NodeChange]) {
        for NodeChange { path, write } in changes {
            match write {
                NodeChangeKind::Stored(node) => self.put(path, version, Some(node.clone())),
                NodeChangeKind::Removed => {
                    assert!(self.newest(path, version).is_some(), "{path} was not there");
                    self.put(path, version, None);
                }
                NodeChangeKind::Cleared => {
                    assert!(self.newest(path, version).is_some(), "{path} was not there");
                    for below in self.live(version).into_keys().filter(|below| below.starts_with(path)) {
                        self.put(&below, version, None);
                    }
                }
            }
        }
    }

    fn put(&mut self, path: &NodePath, version: u64, node: Option<Bytes>) {
        self.0.insert((path.clone(), version), node);
    }

    fn newest(&self, path: &NodePath, version: u64) -> Option<&Bytes> {
        self.0.range((path.clone(), 0)..=(path.clone(), version)).next_back()?.1.as_ref()
    }

    fn live(&self, version: u64) -> BTreeMap<NodePath, Bytes> {
        let paths = self.0.keys().map(|(path, _)| path);
        paths.filter_map(|path| Some((path.clone(), self.newest(path, version)?.clone()))).collect()
    }

    /// Asserts that a version holds exactly the nodes of a trie.
    pub fn assert_holds(&self, version: u64, trie: &Trie<Vec<u8>>) {
        assert_eq!(self.live(version), Self::from_trie(trie).live(1));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Changes the bytes of one node of version 1 and returns its path.
    pub fn damage(&mut self, which: Index, change: impl FnOnce(&mut Vec<u8>)) -> NodePath {
        let at = which.index(self.0.len());
        let ((path, _), node) = self.0.iter_mut().nth(at).expect("the index is below the length");
        let mut bytes = node.as_ref().expect("a first version has no node that is gone").to_vec();
        change(&mut bytes);
        *node = Some(bytes.into());
        path.clone()
    }

    pub fn remove(&mut self, path: &NodePath) {
        self.0.remove(&(path.clone(), 1));
    }
}

/// The nodes as of one version.
pub struct Version<'n> {
    nodes: &'n Nodes,
    number: u64,
    reads: AtomicUsize,
}

impl Version<'_> {
    /// Returns the number of nodes that were requested.
    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

impl NodeSource for Version<'_> {
    type Error = Infallible;

    fn node(&self, path: &[u8]) -> Result<Option<Bytes>, Infallible> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.nodes.newest(&path.into(), self.number).cloned())
    }
}
