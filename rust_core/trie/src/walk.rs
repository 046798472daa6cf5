//! Walks from a node down to the values of keys.

use crate::{
    Change, Lookup,
    key::{nibble, shared_prefix},
    node::{Child, Node},
};

/// Number of walks that descend together.
const WALKS: usize = 16;

/// State of a walk.
enum Cursor<'t, V> {
    /// At a node that is this many nibbles below the root.
    Under(&'t Node<V>, usize),
    At(Lookup<'t, V>),
}

impl<V> Clone for Cursor<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Cursor<'_, V> {}

/// Looks up one key below `top`, the root.
pub(crate) fn one<'t, V>(top: Option<&'t Child<V>>, key: &[u8]) -> Lookup<'t, V> {
    let Some(top) = top else { return Lookup::Absent };
    let mut cursor = Cursor::Under(&top.node, 0);
    loop {
        match cursor {
            Cursor::Under(node, depth) => cursor = descend(node, key, depth),
            Cursor::At(value) => return value,
        }
    }
}

/// Looks up many keys below `top`, which is `depth` nibbles below the root, several at a time.
pub(crate) fn many<'t, V: 't, K>(
    top: Option<&'t Child<V>>,
    depth: usize,
    keys: &[K],
    bytes: impl Fn(&K) -> &[u8],
    mut found: impl FnMut(Lookup<'t, V>),
) {
    for keys in keys.chunks(WALKS) {
        let start = top.map_or(Cursor::At(Lookup::Absent), |top| Cursor::Under(&top.node, depth));
        let mut cursors = [start; WALKS];
        let mut under_way = true;
        while under_way {
            under_way = false;
            for (cursor, key) in cursors.iter_mut().zip(keys) {
                if let Cursor::Under(node, depth) = *cursor {
                    *cursor = descend(node, bytes(key), depth);
                    under_way = true;
                }
            }
        }
        for cursor in cursors.iter().take(keys.len()) {
            found(match cursor {
                Cursor::At(value) => *value,
                Cursor::Under(..) => Lookup::Absent,
            });
        }
    }
}

/// Brings the nodes above the keys of `changes` into the CPU cache. Updating
/// them one by one would wait for each access.
pub(crate) fn fetch<V>(top: Option<&Child<V>>, depth: usize, changes: &[Change<V>]) {
    if changes.len() >= WALKS {
        many(
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
fn descend<'t, V>(node: &'t Node<V>, key: &[u8], depth: usize) -> Cursor<'t, V> {
    let branch = match node {
        Node::Leaf(leaf) if leaf.key.as_slice() == key => return Cursor::At(Lookup::Value(&leaf.value)),
        Node::Leaf(_) => return Cursor::At(Lookup::Absent),
        Node::Stub => return Cursor::At(Lookup::Stub),
        Node::Branch(branch) => branch,
    };
    let prefix = branch.prefix();
    if !prefix.is_empty() && shared_prefix(key, prefix, depth) < prefix.len() {
        return Cursor::At(Lookup::Absent);
    }
    let depth = depth + prefix.len();
    if depth == key.len() * 2 {
        return Cursor::At(branch.value().map_or(Lookup::Absent, |leaf| Lookup::Value(&leaf.value)));
    }
    let child = branch.child(nibble(key, depth));
    child.map_or(Cursor::At(Lookup::Absent), |child| Cursor::Under(&child.node, depth + 1))
}
