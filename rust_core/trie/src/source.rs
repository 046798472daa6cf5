//! Sources of nodes that are not in memory.

use std::{convert::Infallible, fmt, ops::Deref};

use alloy_primitives::Bytes;
use serde::{Deserialize, Serialize};

/// Source of the stored nodes of one version of one trie.
///
/// The stored form is that of [`NodeChangeKind::Stored`](crate::NodeChangeKind): the RLP of the node. For a branch
/// under an extension it is the RLP of the extension followed by that of the branch. Each node is checked
/// against the hash that its parent holds: a source need not be trusted. A wrong node is a named error.
pub trait NodeSource: Sync {
    /// Error of a failed read.
    type Error: Send;

    /// Returns the node at `path` (nibbles, one per byte; empty for the
    /// root), or `None` if none is stored there.
    fn node(&self, path: &[u8]) -> Result<Option<Bytes>, Self::Error>;

    /// Returns many nodes, in the order of `paths`, which ascend. Implement it where reads share a cost.
    fn nodes(&self, paths: &[&[u8]]) -> Result<Vec<Option<Bytes>>, Self::Error> {
        paths.iter().map(|path| self.node(path)).collect()
    }
}

impl<S: NodeSource + ?Sized> NodeSource for &S {
    type Error = S::Error;

    fn node(&self, path: &[u8]) -> Result<Option<Bytes>, S::Error> {
        (**self).node(path)
    }

    fn nodes(&self, paths: &[&[u8]]) -> Result<Vec<Option<Bytes>>, S::Error> {
        (**self).nodes(paths)
    }
}

/// The source of a trie that is entirely in memory: it holds no nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

impl NodeSource for InMemory {
    type Error = Infallible;

    fn node(&self, _: &[u8]) -> Result<Option<Bytes>, Infallible> {
        Ok(None)
    }
}

/// Errors of loading a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError<E> {
    #[error("reading a trie node failed: {0}")]
    Source(E),
    #[error("no trie node is stored at {path}")]
    Missing { path: NodePath },
    #[error("the trie node stored at {path} does not have the hash that its parent holds")]
    Hash { path: NodePath },
    #[error("the value stored at {path} is not a trie node")]
    Malformed { path: NodePath },
}

/// Path of a node: the nibbles from the root to it, one per byte. A branch under an extension has the path of
/// the extension. Paths are ordered as a walk from the root visits them.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct NodePath(Box<[u8]>);

impl NodePath {
    /// Returns the nibbles, one per byte.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for NodePath {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for NodePath {
    fn from(nibbles: Vec<u8>) -> Self {
        Self(nibbles.into())
    }
}

impl From<&[u8]> for NodePath {
    fn from(nibbles: &[u8]) -> Self {
        Self(nibbles.into())
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("the root");
        }
        f.write_str("path ")?;
        self.iter().try_for_each(|nibble| write!(f, "{nibble:x}"))
    }
}

impl fmt::Debug for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodePath({self})")
    }
}
