//! Walks from a node down to the values of keys.

use crate::{
    change::Change,
    key::{nibble, shared_prefix},
    lookup::Lookup,
    node::{Child, Node},
};

/// Number of walks that descend together.
const CONCURRENT_LOOKUPS: usize = 16;

/// State of a walk.
enum LookupState<'t, V> {
    /// At a node that is this many nibbles below the root.
    InProgress(&'t Node<V>, usize),
    Done(Lookup<'t, V>),
}

impl<V> Clone for LookupState<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for LookupState<'_, V> {}

/// Looks up one key below `top`, the root.
pub(crate) fn get<'t, V>(top: Option<&'t Child<V>>, key: &[u8]) -> Lookup<'t, V> {
    let Some(top) = top else { return Lookup::Absent };
    let mut state = LookupState::InProgress(&top.node, 0);
    loop {
        match state {
            LookupState::InProgress(node, depth) => state = descend(node, key, depth),
            LookupState::Done(value) => return value,
        }
    }
}

/// Looks up many keys below `top`, which is `depth` nibbles below the root, several at a time.
pub(crate) fn get_many<'t, V: 't, K>(
    top: Option<&'t Child<V>>,
    depth: usize,
    keys: &[K],
    bytes: impl Fn(&K) -> &[u8],
    mut visit: impl FnMut(Lookup<'t, V>),
) {
    for keys in keys.chunks(CONCURRENT_LOOKUPS) {
        let start =
            top.map_or(LookupState::Done(Lookup::Absent), |top| LookupState::InProgress(&top.node, depth));
        let mut states = [start; CONCURRENT_LOOKUPS];
        let mut is_running = true;
        while is_running {
            is_running = false;
            for (cursor, key) in states.iter_mut().zip(keys) {
                if let LookupState::InProgress(node, depth) = *cursor {
                    *cursor = descend(node, bytes(key), depth);
                    is_running = true;
                }
            }
        }
        for cursor in states.iter().take(keys.len()) {
            visit(match cursor {
                LookupState::Done(value) => *value,
                LookupState::InProgress(..) => Lookup::Absent,
            });
        }
    }
}

/// Brings the nodes above the keys of `changes` into the CPU cache. Updating
/// them one by one would wait for each access.
pub(crate) fn prefetch<V>(top: Option<&Child<V>>, depth: usize, changes: &[Change<V>]) {
    if changes.len() >= CONCURRENT_LOOKUPS {
        get_many(
            top,
            depth,
            changes,
            |(key, _)| key.as_slice(),
            |value| {
                std::hint::black_box(matches!(value, Lookup::Value(_)));
            },
        );
    }
}

/// Advances a walk by one node.
#[inline]
fn descend<'t, V>(node: &'t Node<V>, key: &[u8], depth: usize) -> LookupState<'t, V> {
    let branch = match node {
        Node::Leaf(leaf) if leaf.key.as_slice() == key => {
            return LookupState::Done(Lookup::Value(&leaf.value));
        }
        Node::Leaf(_) => return LookupState::Done(Lookup::Absent),
        Node::Stub => return LookupState::Done(Lookup::Stub),
        Node::Branch(branch) => branch,
    };
    let prefix = branch.prefix();
    if !prefix.is_empty() && shared_prefix(key, prefix, depth) < prefix.len() {
        return LookupState::Done(Lookup::Absent);
    }
    let depth = depth + prefix.len();
    if depth == key.len() * 2 {
        return LookupState::Done(branch.value().map_or(Lookup::Absent, |leaf| Lookup::Value(&leaf.value)));
    }
    let child = branch.child(nibble(key, depth));
    child.map_or(LookupState::Done(Lookup::Absent), |child| LookupState::InProgress(&child.node, depth + 1))
}
