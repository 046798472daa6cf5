//! Encodes nodes as RLP (yellow paper, appendix D).

use alloy_primitives::Bytes;
use alloy_rlp::Header;

use crate::{
    key::nibble,
    node::{Branch, Leaf, Node, Reference, Value},
};

/// Returns a node in the form of a [`NodeSource`](crate::NodeSource): its RLP. For a
/// branch under an extension, the RLP of the extension is followed by that of the
/// branch, unless the extension holds it inline.
pub(crate) fn stored<V: Value>(node: &Node<V>, depth: usize) -> Bytes {
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    match node {
        Node::Leaf(node) => leaf(node, depth, &mut scratch, &mut out),
        Node::Branch(node) => {
            branch(node, &mut scratch, &mut out);
            if !node.prefix().is_empty() {
                let below = Reference::new(&out);
                let rlp = std::mem::take(&mut out);
                extension(node.prefix(), &below, &mut out);
                if below.as_hash().is_some() {
                    out.extend_from_slice(&rlp);
                }
            }
        }
        Node::Stub => unreachable!("a stub has been loaded before it is encoded"),
    }
    out.into()
}

/// Appends a leaf whose position covers the first `depth` nibbles of its key.
pub(crate) fn leaf<V: Value>(leaf: &Leaf<V>, depth: usize, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    scratch.clear();
    leaf.value.encode(scratch);
    let key = leaf.key.as_slice();
    let path_length = (key.len() * 2 - depth) / 2 + 1;
    let first = if depth.is_multiple_of(2) { 0x20 } else { 0x30 | nibble(key, depth) };
    let payload = path_rlp_length(path_length) + string_length(scratch);
    Header { list: true, payload_length: payload }.encode(out);
    if path_length > 1 {
        Header { list: false, payload_length: path_length }.encode(out);
    }
    out.push(first);
    out.extend_from_slice(&key[depth.div_ceil(2)..]);
    string(scratch, out);
}

/// Appends the extension node over a branch.
pub(crate) fn extension(prefix: &[u8], below: &Reference, out: &mut Vec<u8>) {
    let path_length = prefix.len() / 2 + 1;
    let odd = prefix.len() % 2;
    let first = if odd == 0 { 0x00 } else { 0x10 | prefix[0] };
    let payload = path_rlp_length(path_length) + reference_length(below);
    Header { list: true, payload_length: payload }.encode(out);
    if path_length > 1 {
        Header { list: false, payload_length: path_length }.encode(out);
    }
    out.push(first);
    out.extend(prefix[odd..].chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    reference(below, out);
}

/// Appends a branch without its extension.
pub(crate) fn branch<V: Value>(branch: &Branch<V>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    scratch.clear();
    let mut payload = 16 - branch.children().len() + 1;
    if let Some(leaf) = branch.value() {
        leaf.value.encode(scratch);
        payload += string_length(scratch) - 1;
    }
    payload += branch.children().iter().map(|child| reference_length(&child.reference)).sum::<usize>();
    Header { list: true, payload_length: payload }.encode(out);
    let mut children = branch.children().iter();
    for nibble in 0..16 {
        match children.as_slice().first() {
            Some(child) if branch.mask() & 1 << nibble != 0 => {
                reference(&child.reference, out);
                children.next();
            }
            _ => out.push(alloy_rlp::EMPTY_STRING_CODE),
        }
    }
    string(scratch, out);
}

#[inline]
fn reference(reference: &Reference, out: &mut Vec<u8>) {
    if reference.as_slice().len() == 32 {
        out.push(alloy_rlp::EMPTY_STRING_CODE + 32);
    }
    out.extend_from_slice(reference.as_slice());
}

#[inline]
fn reference_length(reference: &Reference) -> usize {
    let length = reference.as_slice().len();
    if length == 32 { 33 } else { length }
}

/// Returns the RLP length of a compact path. Its first byte is below
/// 0x80, so a path of one byte is its own RLP.
#[inline]
fn path_rlp_length(length: usize) -> usize {
    if length == 1 { 1 } else { Header { list: false, payload_length: length }.length_with_payload() }
}

#[inline]
fn string(bytes: &[u8], out: &mut Vec<u8>) {
    if !is_single_byte(bytes) {
        Header { list: false, payload_length: bytes.len() }.encode(out);
    }
    out.extend_from_slice(bytes);
}

#[inline]
fn string_length(bytes: &[u8]) -> usize {
    if is_single_byte(bytes) {
        1
    } else {
        Header { list: false, payload_length: bytes.len() }.length_with_payload()
    }
}

#[inline]
fn is_single_byte(bytes: &[u8]) -> bool {
    matches!(bytes, [byte] if *byte < alloy_rlp::EMPTY_STRING_CODE)
}
