//! Merkle proofs.

use alloy_primitives::Bytes;

use crate::{
    encode,
    key::{nibble, shared_prefix},
    node::{Branch, MUST_BE_LOADED, Node, Reference, Value},
    trie::Trie,
};

impl<V: Value> Trie<V> {
    /// Returns the RLP of the nodes from the root towards `key`, without those that their parent holds
    /// inline. They prove the value of the key, or its absence. The result is empty for an empty trie.
    ///
    /// # Panics
    /// Panics if it meets a stub: [`Trie::load`] the key first.
    pub fn prove(&self, key: &[u8]) -> Vec<Bytes> {
        let mut proof = Vec::new();
        let mut depth = 0;
        let mut next = self.top();
        while let Some(child) = next {
            match &child.node {
                Node::Leaf(leaf) => {
                    add(&mut proof, |scratch, out| encode::leaf(leaf, depth, scratch, out));
                    break;
                }
                Node::Stub => unreachable!("{MUST_BE_LOADED}"),
                Node::Branch(branch) => {
                    let follows = shared_prefix(key, branch.prefix(), depth) == branch.prefix().len();
                    add_branch(&mut proof, branch, follows);
                    depth += branch.prefix().len();
                    if !follows || depth == key.len() * 2 {
                        break;
                    }
                    next = branch.child(nibble(key, depth));
                    depth += 1;
                }
            }
        }
        proof
    }
}

/// Adds a branch and the extension above it; omits the branch itself if the key diverges from the extension.
fn add_branch<V: Value>(proof: &mut Vec<Bytes>, branch: &Branch<V>, follows: bool) {
    if !branch.prefix().is_empty() {
        let below = reference_without_prefix(branch);
        add(proof, |_, out| encode::extension(branch.prefix(), &below, out));
        if !follows || below.as_hash().is_none() {
            return;
        }
    }
    add(proof, |scratch, out| encode::branch(branch, scratch, out));
}

fn reference_without_prefix<V: Value>(branch: &Branch<V>) -> Reference {
    let mut rlp = Vec::new();
    encode::branch(branch, &mut Vec::new(), &mut rlp);
    Reference::new(&rlp)
}

/// Adds one node, unless its parent holds it inline.
fn add(proof: &mut Vec<Bytes>, encode: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>)) {
    let mut rlp = Vec::new();
    encode(&mut Vec::new(), &mut rlp);
    if proof.is_empty() || rlp.len() >= 32 {
        proof.push(rlp.into());
    }
}
