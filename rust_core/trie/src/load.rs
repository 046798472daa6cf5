//! Loads the nodes that reads, proofs or changes of some keys reach.
//!
//! Loading works level by level: the nodes of one level are requested together, and their
//! hashes are checked together. Then the loaded subtrees are assembled from the bottom, and the
//! nodes of the trie above them are copied once.
//!
//! ```text
//! keys -> walk what is in memory -> stubs met -> load, check, decode -> stubs met below them -> ... -> graft
//! ```

use alloy_primitives::{B256, Bytes};
use foreseal_keccak::keccak_batch;
use rayon::prelude::*;

use crate::{
    decode::{self, NodeDecodeError},
    key::Key,
    node::{Branch, BranchHeader, Child, Node, Reference, Value},
    source::{LoadError, NodePath, NodeSource},
};

/// Number of nodes of a level that one task of the thread pool loads.
const CHUNK_SIZE: usize = 128;

/// A key whose path may contain no stub after loading.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredKey {
    pub key: Key,
    /// `true` if the key is about to be deleted. If that leaves a branch with
    /// a single child, the child is loaded too.
    pub deleted: bool,
}

/// A stub to load, and the keys below it (none for a child that is loaded only because it may be merged).
struct PendingNode<'w> {
    path: NodePath,
    reference: Reference,
    /// Index of its parent among the loaded nodes of the level above. Unused for a stub of the trie itself.
    parent: usize,
    required: &'w [RequiredKey],
}

/// A loaded node, and those of its children that were loaded.
struct LoadedNode<V> {
    path: NodePath,
    reference: Reference,
    node: Node<V>,
    parent: usize,
    below: Vec<(NodePath, Child<V>)>,
}

/// Threads that load the nodes of a level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The calling thread alone.
    Own,
    /// The threads of the pool, if the level has several chunks of nodes.
    Pool,
}

/// Returns the tree below `top` with all nodes loaded that the `required` keys, ascending,
/// need. Returns `None` if none was missing.
pub(crate) fn load<V: Value, S: NodeSource + ?Sized>(
    top: &Child<V>,
    required: &[RequiredKey],
    source: &S,
    threads: Threads,
) -> Result<Option<Child<V>>, LoadError<S::Error>> {
    let mut pending = Vec::new();
    let mut search = StubSearch { parent: 0, pending: &mut pending };
    search.search_child(top, 0, required);
    let mut levels: Vec<Vec<LoadedNode<V>>> = Vec::new();
    while !pending.is_empty() {
        let level = match threads {
            Threads::Pool if pending.len() > CHUNK_SIZE => load_chunks(&pending, source)?,
            Threads::Pool | Threads::Own => load_level(&pending, source)?,
        };
        let mut next = Vec::new();
        for (parent, (loaded, from)) in level.iter().zip(&pending).enumerate() {
            let mut search = StubSearch { parent, pending: &mut next };
            search.search_node(&loaded.node, from.path.len(), from.required);
        }
        levels.push(level);
        pending = next;
    }
    Ok(assemble(levels).map(|mut grafts| replace_stubs(top, 0, &mut grafts)))
}

/// Collects the stubs that keys reach.
struct StubSearch<'s, 'w> {
    parent: usize,
    pending: &'s mut Vec<PendingNode<'w>>,
}

impl<'w> StubSearch<'_, 'w> {
    /// Follows the keys, which share their first `depth` nibbles, below a child at that depth.
    fn search_child<V>(&mut self, child: &Child<V>, depth: usize, required: &'w [RequiredKey]) {
        let Some(first) = required.first() else { return };
        match &child.node {
            Node::Stub => self.add(first.key.nibbles(0, depth).to_vec(), child, required),
            node => self.search_node(node, depth, required),
        }
    }

    fn search_node<V>(&mut self, node: &Node<V>, depth: usize, required: &'w [RequiredKey]) {
        let Node::Branch(branch) = node else { return };
        let at = depth + branch.prefix().len();
        let mut below = keys_with_prefix(required, branch.prefix(), depth);
        let Some(first) = below.first() else { return };
        let path = first.key.nibbles(0, at);
        let mut remaining = usize::from(branch.value().is_some());
        if first.key.nibble_count() == at {
            remaining = usize::from(!first.deleted);
            below = &below[1..];
        }
        let mut untouched = branch.mask();
        for group in below.chunk_by(|a, b| a.key.nibble(at) == b.key.nibble(at)) {
            let nibble = group[0].key.nibble(at);
            untouched &= !(1 << nibble);
            remaining += usize::from(group.iter().any(|want| !want.deleted));
            if let Some(child) = branch.child(nibble) {
                self.search_child(child, at + 1, group);
            }
        }
        if remaining == 0 && untouched.is_power_of_two() {
            self.require_last_child(branch, &path, untouched);
        }
    }

    /// Requests the child that may remain as the only one and would then be merged with its branch.
    fn require_last_child<V>(&mut self, branch: &Branch<V>, path: &[u8], mask: u16) {
        let nibble = u8::try_from(mask.trailing_zeros()).expect("one bit of sixteen is set");
        if let Some(child) = branch.child(nibble)
            && matches!(child.node, Node::Stub)
        {
            self.add([path, &[nibble]].concat(), child, &[]);
        }
    }

    fn add<V>(&mut self, path: Vec<u8>, child: &Child<V>, required: &'w [RequiredKey]) {
        let (path, reference) = (path.into(), child.reference);
        self.pending.push(PendingNode { path, reference, parent: self.parent, required });
    }
}

/// Returns the keys that have `prefix` from nibble `depth` on: they are contiguous.
fn keys_with_prefix<'w>(required: &'w [RequiredKey], prefix: &[u8], depth: usize) -> &'w [RequiredKey] {
    let follows = |want: &RequiredKey| want.key.shared_prefix(prefix, depth) == prefix.len();
    let start = required.iter().position(follows).unwrap_or(required.len());
    let length = required[start..].iter().take_while(|want| follows(want)).count();
    &required[start..start + length]
}

/// Loads the node with this `reference`, which is a hash.
pub(crate) fn load_node<V: Value, S: NodeSource + ?Sized>(
    path: &[u8],
    reference: Reference,
    source: &S,
) -> Result<Node<V>, LoadError<S::Error>> {
    let stored = source.node(path).map_err(LoadError::Source)?;
    let mut nodes = check_and_decode(&[(path, reference)], &[stored])?;
    nodes.pop().ok_or_else(|| LoadError::Missing { path: path.into() })
}

/// Loads the nodes of a level on the thread pool. If several chunks fail, returns the error of the first.
fn load_chunks<V: Value, S: NodeSource + ?Sized>(
    pending: &[PendingNode<'_>],
    source: &S,
) -> Result<Vec<LoadedNode<V>>, LoadError<S::Error>> {
    let chunks: Vec<_> = pending.par_chunks(CHUNK_SIZE).map(|chunk| load_level(chunk, source)).collect();
    let mut level = Vec::with_capacity(pending.len());
    for chunk in chunks {
        level.extend(chunk?);
    }
    Ok(level)
}

fn load_level<V: Value, S: NodeSource + ?Sized>(
    pending: &[PendingNode<'_>],
    source: &S,
) -> Result<Vec<LoadedNode<V>>, LoadError<S::Error>> {
    let paths: Vec<&[u8]> = pending.iter().map(|stub| stub.path.as_slice()).collect();
    let stored = source.nodes(&paths).map_err(LoadError::Source)?;
    let named: Vec<_> = pending.iter().map(|stub| (stub.path.as_slice(), stub.reference)).collect();
    let nodes = check_and_decode(&named, &stored)?;
    let loaded = |(stub, node): (&PendingNode<'_>, Node<V>)| LoadedNode {
        path: stub.path.clone(),
        reference: stub.reference,
        node,
        parent: stub.parent,
        below: Vec::new(),
    };
    Ok(pending.iter().zip(nodes).map(loaded).collect())
}

/// Checks and decodes stored nodes, each identified by its path and its hash.
fn check_and_decode<V: Value, E>(
    named: &[(&[u8], Reference)],
    stored: &[Option<Bytes>],
) -> Result<Vec<Node<V>>, LoadError<E>> {
    let mut split = Vec::with_capacity(named.len());
    for (at, (path, _)) in named.iter().enumerate() {
        let Some(Some(stored)) = stored.get(at) else {
            return Err(LoadError::Missing { path: (*path).into() });
        };
        split.push(decode::split(stored).ok_or_else(|| LoadError::Malformed { path: (*path).into() })?);
    }
    let inputs: Vec<&[u8]> = split.iter().map(|(first, _)| *first).collect();
    let mut hashes = vec![B256::ZERO; inputs.len()];
    keccak_batch(&inputs, &mut hashes);
    let mut nodes = Vec::with_capacity(named.len());
    for (((path, reference), (first, rest)), hash) in named.iter().zip(split).zip(hashes) {
        let node = if reference.as_hash() == Some(hash) {
            decode::stored(first, rest, path)
        } else {
            Err(NodeDecodeError::Hash)
        };
        nodes.push(node.map_err(|wrong| match wrong {
            NodeDecodeError::Hash => LoadError::Hash { path: (*path).into() },
            NodeDecodeError::Malformed => LoadError::Malformed { path: (*path).into() },
        })?);
    }
    Ok(nodes)
}

/// Assembles the loaded subtrees from the bottom. Returns `None` if there are none.
fn assemble<V>(mut levels: Vec<Vec<LoadedNode<V>>>) -> Option<Vec<(NodePath, Child<V>)>> {
    loop {
        let level = levels.pop()?;
        let mut tops = Vec::new();
        for LoadedNode { path, reference, node, parent, mut below } in level {
            let node = with_children(node, &mut below, path.len());
            let child = Child { reference, node };
            match levels.last_mut() {
                Some(above) => above[parent].below.push((path, child)),
                None => tops.push((path, child)),
            }
        }
        if levels.is_empty() {
            tops.sort_by(|a, b| a.0.cmp(&b.0));
            return Some(tops);
        }
    }
}

/// Returns a loaded branch with those of its children that were loaded too.
fn with_children<V>(node: Node<V>, below: &mut [(NodePath, Child<V>)], depth: usize) -> Node<V> {
    match node {
        Node::Branch(branch) if !below.is_empty() => {
            below.sort_by(|a, b| a.0.cmp(&b.0));
            Node::Branch(replace_children(&branch, depth, below))
        }
        node => node,
    }
}

/// Returns a copy of the nodes above the grafts, with the grafts in place of the stubs.
fn replace_stubs<V>(child: &Child<V>, depth: usize, loaded: &mut [(NodePath, Child<V>)]) -> Child<V> {
    match (&child.node, &loaded) {
        (Node::Branch(branch), _) => {
            Child { reference: child.reference, node: Node::Branch(replace_children(branch, depth, loaded)) }
        }
        (Node::Stub, [(_, loaded), ..]) => loaded.clone(),
        (Node::Stub | Node::Leaf(_), _) => child.clone(),
    }
}

fn replace_children<V>(
    branch: &Branch<V>,
    depth: usize,
    mut loaded: &mut [(NodePath, Child<V>)],
) -> Branch<V> {
    let at = depth + branch.prefix().len();
    let mut children: Vec<Child<V>> = Vec::with_capacity(branch.children().len());
    let mut nibbles = (0u8..16).filter(|nibble| branch.mask() & 1 << nibble != 0);
    for (nibble, child) in nibbles.by_ref().zip(branch.children()) {
        let length = loaded.iter().take_while(|(path, _)| path.get(at) == Some(&nibble)).count();
        let (group, rest) = loaded.split_at_mut(length);
        loaded = rest;
        children.push(if group.is_empty() { child.clone() } else { replace_stubs(child, at + 1, group) });
    }
    let head = branch.head();
    let head = BranchHeader { prefix: head.prefix.clone(), value: head.value.clone(), mask: head.mask };
    Branch::new(head, children.into_iter())
}
