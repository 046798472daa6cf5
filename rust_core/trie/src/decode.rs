//! Decodes nodes from RLP (yellow paper, appendix D). The input is not trusted.

use alloy_primitives::B256;
use alloy_rlp::{Header, PayloadView};
use foreseal_keccak::keccak;
use triomphe::Arc;

use crate::{
    key::{Key, MAX_KEY_BYTES},
    node::{Branch, BranchHeader, Child, Leaf, Node, Reference, Value},
};

/// Reasons for which bytes are rejected as the referenced node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeDecodeError {
    Hash,
    Malformed,
}

/// Splits a stored form into its first RLP item, which the parent references, and
/// the rest: the branch below an extension.
pub(crate) fn split(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = stored;
    let header = Header::decode(&mut rest).ok()?;
    let length = (stored.len() - rest.len()).checked_add(header.payload_length)?;
    stored.split_at_checked(length)
}

/// Decodes the node at `path`. The hash of its first item, `first`, has been checked.
pub(crate) fn stored<V: Value>(first: &[u8], rest: &[u8], path: &[u8]) -> Result<Node<V>, NodeDecodeError> {
    let mut path = path.to_vec();
    match decode_node(first).ok_or(NodeDecodeError::Malformed)? {
        DecodedNode::Extension { prefix, below } if below.len() == 32 => {
            if keccak(rest).as_slice() != below {
                return Err(NodeDecodeError::Hash);
            }
            branch(rest, &prefix, &mut path).ok_or(NodeDecodeError::Malformed)
        }
        _ if rest.is_empty() => inline(first, &mut path).ok_or(NodeDecodeError::Malformed),
        _ => Err(NodeDecodeError::Malformed),
    }
}

/// A node as in its RLP, with an extension separate from its branch.
enum DecodedNode<'a> {
    Leaf {
        tail: Vec<u8>,
        value: &'a [u8],
    },
    /// `below`: a hash, or the RLP of a branch if it is shorter than a hash.
    Extension {
        prefix: Vec<u8>,
        below: &'a [u8],
    },
    Branch(Vec<&'a [u8]>),
}

fn decode_node(mut rlp: &[u8]) -> Option<DecodedNode<'_>> {
    let PayloadView::List(items) = Header::decode_raw(&mut rlp).ok()? else {
        return None;
    };
    if !rlp.is_empty() {
        return None;
    }
    match items[..] {
        [path, item] => {
            let (leaf, nibbles) = hex_prefix(string(path)?)?;
            if leaf {
                return Some(DecodedNode::Leaf { tail: nibbles, value: string(item)? });
            }
            let below = reference(item)?;
            (!below.is_empty() && !nibbles.is_empty())
                .then_some(DecodedNode::Extension { prefix: nibbles, below })
        }
        _ if items.len() == 17 => Some(DecodedNode::Branch(items)),
        _ => None,
    }
}

/// Decodes a node that is contained entirely in `rlp`.
fn inline<V: Value>(rlp: &[u8], path: &mut Vec<u8>) -> Option<Node<V>> {
    match decode_node(rlp)? {
        DecodedNode::Leaf { tail, value } => {
            path.extend_from_slice(&tail);
            Some(Node::Leaf(leaf(path, value)?))
        }
        DecodedNode::Extension { prefix, below } => {
            if below.len() == 32 {
                None
            } else {
                branch(below, &prefix, path)
            }
        }
        DecodedNode::Branch(_) => branch(rlp, &[], path),
    }
}

fn branch<V: Value>(rlp: &[u8], prefix: &[u8], path: &mut Vec<u8>) -> Option<Node<V>> {
    let DecodedNode::Branch(items) = decode_node(rlp)? else {
        return None;
    };
    path.extend_from_slice(prefix);
    if path.len() > MAX_KEY_BYTES * 2 {
        return None;
    }
    let (value, items) = items.split_last()?;
    let value = string(value)?;
    let value = if value.is_empty() { None } else { Some(leaf(path, value)?) };
    let (mut mask, mut children) = (0u16, Vec::with_capacity(16));
    for (nibble, item) in (0u8..16).zip(items) {
        let below = reference(item)?;
        if below.is_empty() {
            continue;
        }
        if path.len() == MAX_KEY_BYTES * 2 {
            return None;
        }
        let child = if let Ok(hash) = B256::try_from(below) {
            Child { reference: Reference::hash(hash), node: Node::Stub }
        } else {
            let depth = path.len();
            path.push(nibble);
            let node = inline(below, path)?;
            path.truncate(depth);
            Child { reference: Reference::inline(below)?, node }
        };
        mask |= 1 << nibble;
        children.push(child);
    }
    let entries = children.len() + usize::from(value.is_some());
    (entries >= 2).then(|| {
        Node::Branch(Branch::new(BranchHeader { prefix: prefix.into(), value, mask }, children.into_iter()))
    })
}

fn leaf<V: Value>(path: &[u8], value: &[u8]) -> Option<Arc<Leaf<V>>> {
    Some(Arc::new(Leaf { key: Key::from_nibbles(path)?, value: V::decode(value)? }))
}

/// Returns the hash of a child, or the RLP of one that is shorter; empty if there is no child.
fn reference(item: &[u8]) -> Option<&[u8]> {
    if item.first().is_some_and(|byte| *byte >= alloy_rlp::EMPTY_LIST_CODE) {
        return (item.len() < 32).then_some(item);
    }
    string(item).filter(|hash| hash.is_empty() || hash.len() == 32)
}

/// Returns the payload of an RLP string.
pub(crate) fn string(mut item: &[u8]) -> Option<&[u8]> {
    Header::decode_bytes(&mut item, false).ok()
}

/// Decodes a compact path (yellow paper, appendix C): `true` if it belongs to a leaf, and its nibbles.
pub(crate) fn hex_prefix(path: &[u8]) -> Option<(bool, Vec<u8>)> {
    let (flags, bytes) = path.split_first()?;
    let odd = match (flags >> 4, flags & 0x0f) {
        (0 | 2, 0) => None,
        (1 | 3, nibble) => Some(nibble),
        _ => return None,
    };
    let nibbles = odd.into_iter().chain(bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f])).collect();
    Some((flags >> 4 >= 2, nibbles))
}
