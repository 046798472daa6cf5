//! Where nodes come from that are not in memory.

use std::{convert::Infallible, fmt, ops::Deref};

use alloy_primitives::Bytes;

/// Gives the stored forms of the nodes of one version of one trie.
///
/// The form is what [`NodeWrite::Stored`](crate::NodeWrite) has: the RLP of the node, and for a branch under an
/// extension the RLP of both, one behind the other. What a source gives is checked against the hash that the parent
/// holds, so a source need not be trusted, and a wrong node is a named error.
pub trait NodeSource: Sync {
    /// Why reading failed.
    type Error: Send;

    /// The node that hangs at `path` (nibbles, one per byte; none for the root), `None` if none is stored there.
    fn node(&self, path: &[u8]) -> Result<Option<Bytes>, Self::Error>;

    /// Many nodes, in the order of the paths (which ascend). Worth its own implementation where reads share a cost.
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

/// The source of a trie that is wholly in memory: it has nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole;

impl NodeSource for Whole {
    type Error = Infallible;

    fn node(&self, _: &[u8]) -> Result<Option<Bytes>, Infallible> {
        Ok(None)
    }
}

/// Why a node could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError<E> {
    #[error("reading a trie node failed: {0}")]
    Source(E),
    #[error("no trie node is stored at {path}")]
    Missing { path: NodePath },
    #[error("the trie node stored at {path} does not have the hash that its parent holds")]
    Hash { path: NodePath },
    #[error("what is stored at {path} is not a trie node")]
    Malformed { path: NodePath },
}

/// Where a node hangs: the nibbles from the root to it, one per byte. A branch under an extension hangs where the
/// extension does. Ordered as a walk from the root meets them.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Box<[u8]>);

impl NodePath {
    /// The nibbles, one per byte.
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
