//! Nodes. They are immutable and shared between the snapshots that have them.

use alloy_primitives::B256;
use triomphe::{Arc, ThinArc};

use crate::Key;

/// What a trie holds under a key.
pub trait Value: Clone + Send + Sync {
    /// Appends the bytes that the leaf commits to. They are never empty: an empty value is an absent one.
    fn encode(&self, out: &mut Vec<u8>);
    /// The value that was encoded so, for leaves that come from a [`NodeSource`](crate::NodeSource). `None`: not a value.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl Value for alloy_primitives::Bytes {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self::copy_from_slice(bytes))
    }
}

impl Value for Vec<u8> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| bytes.to_vec())
    }
}

/// How a parent names a child: the hash of its RLP, or the RLP itself when that is shorter than 32 bytes.
///
/// Aligned, which costs nothing beside a pointer, so that it is copied in whole words.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub(crate) struct Reference {
    bytes: [u8; 32],
    length: u8,
}

impl Reference {
    #[inline]
    pub fn hash(hash: B256) -> Self {
        Self { bytes: hash.0, length: 32 }
    }

    /// The RLP of a node in place; `None` when it has to be hashed.
    #[inline]
    pub fn inline(rlp: &[u8]) -> Option<Self> {
        let length = u8::try_from(rlp.len()).ok().filter(|length| *length < 32)?;
        let mut bytes = [0; 32];
        bytes[..rlp.len()].copy_from_slice(rlp);
        Some(Self { bytes, length })
    }

    /// How a parent names the node with this RLP.
    pub fn of(rlp: &[u8]) -> Self {
        Self::inline(rlp).unwrap_or_else(|| Self::hash(foreseal_types::keccak(rlp)))
    }

    #[inline]
    pub fn as_hash(&self) -> Option<B256> {
        (self.length == 32).then_some(B256::new(self.bytes))
    }

    /// The hash, or the inline RLP.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl PartialEq for Reference {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

/// A child as its parent holds it: the reference beside the pointer, so that hashing a parent reads no child.
pub(crate) struct Child<V> {
    pub reference: Reference,
    pub node: Node<V>,
}

/// A node, or that it is not in memory.
pub(crate) enum Node<V> {
    Leaf(Arc<Leaf<V>>),
    Branch(Branch<V>),
    /// The node is in a [`NodeSource`](crate::NodeSource). The reference beside it is always a hash: nodes shorter than
    /// that are part of their parent.
    Stub,
}

/// A value under its whole key: where the leaf hangs decides which part of the key it commits to, so a leaf that moves
/// up or down is shared, not copied.
pub(crate) struct Leaf<V> {
    pub key: Key,
    pub value: V,
}

/// A branch, together with the extension node above it when it has a prefix. One allocation: a pointer to follow per
/// level is what a read of a cold trie costs.
pub(crate) struct Branch<V>(ThinArc<Head<V>, Child<V>>);

/// What a branch has beside its children.
pub(crate) struct Head<V> {
    /// The nibbles of the extension, one per byte.
    pub prefix: Box<[u8]>,
    /// The value whose key ends here.
    pub value: Option<Arc<Leaf<V>>>,
    /// Which of the sixteen children exist.
    pub mask: u16,
}

impl<V> Branch<V> {
    /// A branch of the children in `head.mask`, in order.
    pub fn new(head: Head<V>, children: impl ExactSizeIterator<Item = Child<V>>) -> Self {
        Self(ThinArc::from_header_and_iter(head, children))
    }

    /// Whether the two are one node in memory, not only equal.
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.head(), other.head())
    }

    pub fn head(&self) -> &Head<V> {
        &self.0.header.header
    }

    pub fn mask(&self) -> u16 {
        self.head().mask
    }

    pub fn prefix(&self) -> &[u8] {
        &self.head().prefix
    }

    pub fn value(&self) -> Option<&Arc<Leaf<V>>> {
        self.head().value.as_ref()
    }

    /// The children that exist, in order.
    pub fn children(&self) -> &[Child<V>] {
        &self.0.slice
    }

    /// The children that exist with their nibbles, in order.
    pub fn entries(&self) -> impl Iterator<Item = (u8, &Child<V>)> {
        (0..16).filter(|nibble| self.mask() & 1 << nibble != 0).zip(self.children())
    }

    pub fn child(&self, nibble: u8) -> Option<&Child<V>> {
        let bit = 1u16 << nibble;
        let before = (self.mask() & (bit - 1)).count_ones() as usize;
        (self.mask() & bit != 0).then(|| &self.children()[before])
    }
}

impl<V> Node<V> {
    fn sharers(&self) -> usize {
        match self {
            Self::Leaf(leaf) => Arc::strong_count(leaf),
            Self::Branch(branch) => ThinArc::strong_count(&branch.0),
            Self::Stub => 0,
        }
    }
}

impl<V> Drop for Branch<V> {
    fn drop(&mut self) {
        if ThinArc::strong_count(&self.0) == 1 {
            fetch_sharers(self.children());
        }
    }
}

/// Reads the counters of children that are about to be counted up or down. One by one, each count waits for memory;
/// the reads wait together.
pub(crate) fn fetch_sharers<'t, V: 't>(children: impl IntoIterator<Item = &'t Child<V>>) {
    let sharers = children.into_iter().map(|child| child.node.sharers());
    std::hint::black_box(sharers.fold(0, usize::wrapping_add));
}

// By hand: the derived ones would ask that V be Clone, and copy no more than pointers anyway.
impl<V> Clone for Child<V> {
    fn clone(&self) -> Self {
        Self { reference: self.reference, node: self.node.clone() }
    }
}

impl<V> Clone for Node<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(leaf) => Self::Leaf(Arc::clone(leaf)),
            Self::Branch(branch) => Self::Branch(branch.clone()),
            Self::Stub => Self::Stub,
        }
    }
}

impl<V> Clone for Branch<V> {
    fn clone(&self) -> Self {
        Self(ThinArc::clone(&self.0))
    }
}
