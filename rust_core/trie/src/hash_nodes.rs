//! Computes the references of the planned nodes: one height after the other, with batched hashing.

use std::ops::Range;

use alloy_primitives::B256;
use foreseal_keccak::keccak_batch;

use crate::{
    encode,
    node::{Branch, BranchHeader, Child, Node, Reference, Value, prefetch_reference_counts},
    update_plan::{ChildSlot, PlannedBranch, PlannedNode, UpdatePlan},
};

/// Number of nodes that are encoded before they are hashed together:
/// their RLP is then still in the nearest cache.
const BATCH: usize = 64;

impl<V: Value> UpdatePlan<V> {
    /// Hashes the whole plan and turns `roots` into nodes; the result is `None` for an empty slot.
    pub fn hash_nodes(self, roots: Vec<ChildSlot<V>>) -> Vec<Option<Child<V>>> {
        let mut finished =
            FinishedNodes { heights: Vec::with_capacity(self.heights.len()), links: self.links };
        let mut batch = Batch::default();
        for planned in self.heights {
            let mut hashed = Vec::with_capacity(planned.len());
            let mut planned = planned.into_iter();
            while !planned.as_slice().is_empty() {
                prefetch_reference_counts(planned.as_slice().iter().take(BATCH).flat_map(old_children));
                batch.encode(planned.by_ref().take(BATCH), &mut finished);
                batch.hash_into(&mut hashed);
            }
            finished.heights.push(hashed);
        }
        roots.into_iter().map(|slot| finished.remove(slot)).collect()
    }
}

/// Returns the children of the old branch, most of which the planned node shares.
fn old_children<V>(planned: &PlannedNode<V>) -> &[Child<V>] {
    match planned {
        PlannedNode::Leaf { .. } => &[],
        PlannedNode::Branch(branch) => branch.old.as_ref().map_or(&[], Branch::children),
    }
}

/// The finished nodes; the only parent of each removes it from here.
struct FinishedNodes<V> {
    heights: Vec<Vec<Option<Child<V>>>>,
    links: Vec<(u8, ChildSlot<V>)>,
}

impl<V> FinishedNodes<V> {
    fn remove(&mut self, slot: ChildSlot<V>) -> Option<Child<V>> {
        match slot {
            ChildSlot::Empty => None,
            ChildSlot::Hashed(child) => Some(child),
            ChildSlot::Planned(position) => self.heights[position.height][position.index].take(),
        }
    }

    /// Builds a branch; `children` is an empty list that serves as scratch space.
    fn branch(&mut self, planned: PlannedBranch<V>, children: &mut Vec<Child<V>>) -> Branch<V> {
        let PlannedBranch { old, prefix, value, mask, links } = planned;
        let (old_mask, old_children) =
            old.as_ref().map_or((0, [].as_slice()), |old| (old.mask(), old.children()));
        let mut copied = 0;
        for at in links {
            let (nibble, slot) = &mut self.links[at];
            let slot = std::mem::replace(slot, ChildSlot::Empty);
            let bit = 1u16 << *nibble;
            let before = (old_mask & (bit - 1)).count_ones() as usize;
            children.extend_from_slice(&old_children[copied..before]);
            children.extend(self.remove(slot));
            copied = before + usize::from(old_mask & bit != 0);
        }
        children.extend_from_slice(&old_children[copied..]);
        Branch::new(BranchHeader { prefix, value, mask }, children.drain(..))
    }
}

/// Nodes that are encoded and hashed together.
struct Batch<V> {
    nodes: Vec<Node<V>>,
    rlp: Vec<u8>,
    /// Position of each node in `rlp`.
    ranges: Vec<Range<usize>>,
    value: Vec<u8>,
    children: Vec<Child<V>>,
}

impl<V> Default for Batch<V> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            rlp: Vec::new(),
            ranges: Vec::new(),
            value: Vec::new(),
            children: Vec::with_capacity(16),
        }
    }
}

impl<V: Value> Batch<V> {
    fn encode(&mut self, planned: impl Iterator<Item = PlannedNode<V>>, finished: &mut FinishedNodes<V>) {
        self.rlp.clear();
        self.ranges.clear();
        for node in planned {
            let start = self.rlp.len();
            match node {
                PlannedNode::Leaf { leaf, depth } => {
                    encode::leaf(&leaf, depth, &mut self.value, &mut self.rlp);
                    self.nodes.push(Node::Leaf(leaf));
                }
                PlannedNode::Branch(planned) => {
                    let branch = finished.branch(planned, &mut self.children);
                    encode::branch(&branch, &mut self.value, &mut self.rlp);
                    self.nodes.push(Node::Branch(branch));
                }
            }
            self.ranges.push(start..self.rlp.len());
        }
    }

    fn hash_into(&mut self, hashed: &mut Vec<Option<Child<V>>>) {
        let mut references = references(&self.rlp, &self.ranges);
        self.add_extensions(&mut references);
        let children = self.nodes.drain(..).zip(references);
        hashed.extend(children.map(|(node, reference)| Some(Child { reference, node })));
    }

    /// Replaces the reference to each branch with a prefix by the reference to its extension node.
    fn add_extensions(&mut self, references: &mut [Reference]) {
        self.rlp.clear();
        self.ranges.clear();
        let mut extended = Vec::new();
        for (node, reference) in self.nodes.iter().zip(references.iter_mut()) {
            if let Node::Branch(branch) = node
                && !branch.prefix().is_empty()
            {
                let start = self.rlp.len();
                encode::extension(branch.prefix(), reference, &mut self.rlp);
                self.ranges.push(start..self.rlp.len());
                extended.push(reference);
            }
        }
        for (reference, new) in extended.into_iter().zip(self::references(&self.rlp, &self.ranges)) {
            *reference = new;
        }
    }
}

/// Returns the references to many nodes.
fn references(rlp: &[u8], ranges: &[Range<usize>]) -> Vec<Reference> {
    let inline: Vec<_> = ranges.iter().map(|range| Reference::inline(&rlp[range.clone()])).collect();
    let long = ranges.iter().zip(&inline).filter(|(_, inline)| inline.is_none());
    let inputs: Vec<&[u8]> = long.map(|(range, _)| &rlp[range.clone()]).collect();
    let mut hashes = vec![B256::ZERO; inputs.len()];
    keccak_batch(&inputs, &mut hashes);
    let mut hashes = hashes.into_iter().map(Reference::hash);
    inline.into_iter().filter_map(|inline| inline.or_else(|| hashes.next())).collect()
}
