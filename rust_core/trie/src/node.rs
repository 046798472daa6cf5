//! Trie nodes. They are immutable and shared between snapshots.

use alloy_primitives::B256;
use triomphe::{Arc, ThinArc};

use crate::key::Key;

/// Invariant of lookups and changes: the nodes were loaded before.
pub(crate) const MUST_BE_LOADED: &str = "every node that the keys reach has been loaded";

/// A value in a trie.
pub trait Value: Clone + Send + Sync {
    /// Appends the bytes that the leaf commits to. They are never empty: an empty value means absence.
    fn encode(&self, out: &mut Vec<u8>);
    /// Decodes a value, for leaves that come from a [`NodeSource`](crate::NodeSource).
    /// Returns `None` if the bytes are not one.
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

/// A parent's reference to a child: the hash of its RLP, or the RLP itself if it is shorter than 32 bytes.
///
/// The alignment lets it be copied in whole words. It costs no space next to a pointer.
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

    /// Returns the reference that holds a node's RLP inline; `None` if the RLP has to be hashed.
    #[inline]
    pub fn inline(rlp: &[u8]) -> Option<Self> {
        let length = u8::try_from(rlp.len()).ok().filter(|length| *length < 32)?;
        let mut bytes = [0; 32];
        bytes[..rlp.len()].copy_from_slice(rlp);
        Some(Self { bytes, length })
    }

    /// Returns the reference to the node with this RLP.
    pub fn new(rlp: &[u8]) -> Self {
        Self::inline(rlp).unwrap_or_else(|| Self::hash(foreseal_keccak::keccak(rlp)))
    }

    #[inline]
    pub fn as_hash(&self) -> Option<B256> {
        (self.length == 32).then_some(B256::new(self.bytes))
    }

    /// Returns the hash, or the inline RLP.
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

/// A child as its parent holds it. The reference is stored next to the pointer,
/// so that hashing a parent reads no child.
pub(crate) struct Child<V> {
    pub reference: Reference,
    pub node: Node<V>,
}

/// A node, or a stub for one that is not in memory.
pub(crate) enum Node<V> {
    Leaf(Arc<Leaf<V>>),
    Branch(Branch<V>),
    /// The node is in a [`NodeSource`](crate::NodeSource). Its reference is always a hash: shorter
    /// nodes are stored inline in their parent.
    Stub,
}

/// A value with its whole key. The position of the leaf decides which part of the key it commits to. A leaf
/// that moves up or down is therefore shared, not copied.
pub(crate) struct Leaf<V> {
    pub key: Key,
    pub value: V,
}

/// A branch, together with the extension node above it if it has a prefix. It is one allocation: a read of a
/// cold trie costs one pointer dereference per level.
pub(crate) struct Branch<V>(ThinArc<BranchHeader<V>, Child<V>>);

/// The fields of a branch other than its children.
pub(crate) struct BranchHeader<V> {
    /// The nibbles of the extension, one per byte.
    pub prefix: Box<[u8]>,
    /// The value whose key ends here.
    pub value: Option<Arc<Leaf<V>>>,
    /// Bit mask of the children that exist.
    pub mask: u16,
}

impl<V> Branch<V> {
    /// Returns a branch with the children in `head.mask`, in order.
    pub fn new(head: BranchHeader<V>, children: impl ExactSizeIterator<Item = Child<V>>) -> Self {
        Self(ThinArc::from_header_and_iter(head, children))
    }

    /// Returns `true` if the two are the same node in memory, not merely equal.
    pub fn is_same_node(&self, other: &Self) -> bool {
        std::ptr::eq(self.head(), other.head())
    }

    pub fn head(&self) -> &BranchHeader<V> {
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

    /// Returns the existing children, in order.
    pub fn children(&self) -> &[Child<V>] {
        &self.0.slice
    }

    /// Returns the existing children with their nibbles, in order.
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
    fn reference_count(&self) -> usize {
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
            prefetch_reference_counts(self.children());
        }
    }
}

/// Reads the reference counts of children that are about to be incremented or decremented. One by one, each
/// count would wait for memory; these reads overlap.
pub(crate) fn prefetch_reference_counts<'t, V: 't>(children: impl IntoIterator<Item = &'t Child<V>>) {
    let sharers = children.into_iter().map(|child| child.node.reference_count());
    std::hint::black_box(sharers.fold(0, usize::wrapping_add));
}

// Implemented manually: the derived impls would require `V: Clone`, although only pointers are copied.
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
