//! Nodes of tries: untrusted proofs, and nodes of the store.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use alloy_primitives::Bytes;
use alloy_rlp::{Header, PayloadView};
use foreseal_keccak::keccak;
use foreseal_trie::{Key, Lookup, NodeSource, RequiredKey, Trie, verify_proof};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "proof",
    longest: 1024,
    memory: Memory { fixed: 1 << 14, each: 512 },
    prepare: nothing,
    run,
};

/// Source that returns its nodes one after the other and ignores the path. Loading a single key reads the
/// nodes in the order of the proof.
struct InOrder<'a> {
    nodes: &'a [&'a [u8]],
    next: AtomicUsize,
}

impl NodeSource for InOrder<'_> {
    type Error = Infallible;

    fn node(&self, _: &[u8]) -> Result<Option<Bytes>, Infallible> {
        let take = || self.nodes.get(self.next.fetch_add(1, Ordering::Relaxed));
        let Some(node) = take() else { return Ok(None) };
        // The store appends a branch under an extension to the bytes of the extension.
        let below = if is_extension(node) { take() } else { None };
        Ok(Some([node, below.copied().unwrap_or_default()].concat().into()))
    }
}

fn is_extension(node: &[u8]) -> bool {
    let Ok(PayloadView::List(items)) = Header::decode_raw(&mut { node }) else { return false };
    let [path, below] = items[..] else { return false };
    let path = Header::decode_bytes(&mut { path }, false).unwrap_or_default();
    path.first().is_some_and(|first| first & 0x20 == 0) && below.len() == 33
}

/// Checks that a valid proof shows the same value as a trie loaded from its nodes; the two share no code.
///
/// The input is the length of a key and the key, then the length of each node and the node.
fn run(input: &[u8]) {
    let mut parts = parts(input).into_iter();
    let key = parts.next().unwrap_or_default();
    let nodes: Vec<&[u8]> = parts.collect();
    let Some(first) = nodes.first() else { return };
    let root = keccak(first);
    let shown = verify_proof(root, key, &nodes);
    assert_eq!(verify_proof(root, key, &nodes), shown);
    let Ok(wanted) = Key::new(key) else { return };
    let source = InOrder { nodes: &nodes, next: AtomicUsize::new(0) };
    let loaded = Trie::<Bytes>::from_root(root).load([RequiredKey { key: wanted, deleted: false }], &source);
    let Ok(trie) = loaded else { return };
    assert_eq!(trie.root(), root);
    match (shown, trie.get(key)) {
        (Ok(Some(value)), Lookup::Value(stored)) => assert_eq!(value, *stored),
        (Ok(None), Lookup::Absent) | (Err(_), _) => {}
        (shown, Lookup::Value(stored)) => panic!("{stored} is there, but the proof shows {shown:?}"),
        (shown, Lookup::Absent) => panic!("nothing is there, but the proof shows {shown:?}"),
        (_, Lookup::Stub) => panic!("the way to the key was loaded"),
    }
}

/// Splits the input into parts, each of which follows its length (two bytes, big-endian).
fn parts(mut input: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = input.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (part, after) = rest.split_at(length);
        parts.push(part);
        input = after;
    }
    parts
}
