//! Plans the nodes that a batch of changes creates.
//!
//! The plan groups nodes by their height above the lowest new node, so that [`crate::hash_nodes`] can hash a whole
//! height at once. For each new branch it lists only the children that differ from the old branch.

use std::ops::Range;

use triomphe::Arc;

use crate::{
    change::Change,
    key::Key,
    node::{Branch, Child, Leaf, MUST_BE_LOADED, Node, Value},
};

/// A child position in the tree under construction.
pub(crate) enum ChildSlot<V> {
    Empty,
    /// A node that has its reference already.
    Hashed(Child<V>),
    /// A planned node.
    Planned(PlanIndex),
}

/// Position of a planned node: its height, and its index among the nodes of that height.
#[derive(Clone, Copy)]
pub(crate) struct PlanIndex {
    pub height: usize,
    pub index: usize,
}

/// A node that has no reference yet.
pub(crate) enum PlannedNode<V> {
    Leaf { leaf: Arc<Leaf<V>>, depth: usize },
    Branch(PlannedBranch<V>),
}

pub(crate) struct PlannedBranch<V> {
    /// Branch that provides the unchanged children.
    pub old: Option<Branch<V>>,
    pub prefix: Box<[u8]>,
    pub value: Option<Arc<Leaf<V>>>,
    pub mask: u16,
    /// Range in [`UpdatePlan::links`] of the children that changed or were removed.
    pub links: Range<usize>,
}

/// A branch whose children are being planned.
pub(crate) struct BranchBuilder<V> {
    pub old: Option<Branch<V>>,
    pub value: Option<Arc<Leaf<V>>>,
    pub mask: u16,
    /// Index in [`UpdatePlan::open`] of its first changed child.
    start: usize,
}

/// The value of a branch after the changes, and the remaining changes.
pub(crate) struct BranchValue<'c, V> {
    pub value: Option<Arc<Leaf<V>>>,
    pub changed: bool,
    pub remaining: &'c mut [Change<V>],
}

/// A plan, and the number of keys that it adds to the trie.
pub(crate) struct UpdatePlan<V> {
    pub heights: Vec<Vec<PlannedNode<V>>>,
    /// The changed children of all planned branches.
    pub links: Vec<(u8, ChildSlot<V>)>,
    /// The changed children of the branches that are being planned, outermost first.
    open: Vec<(u8, ChildSlot<V>)>,
    pub added: isize,
}

impl<V> Default for UpdatePlan<V> {
    fn default() -> Self {
        Self { heights: Vec::new(), links: Vec::new(), open: Vec::new(), added: 0 }
    }
}

impl<V: Value> UpdatePlan<V> {
    /// Applies sorted changes below `child`, which is `depth` nibbles below the
    /// root. Returns `None` if nothing changed.
    pub fn update(
        &mut self,
        child: Option<&Child<V>>,
        depth: usize,
        changes: &mut [Change<V>],
    ) -> Option<ChildSlot<V>> {
        match child.map(|child| &child.node) {
            None => {
                let leaves: Vec<_> = inserted_leaves(changes).collect();
                self.count_keys(leaves.len(), 0);
                (!leaves.is_empty()).then(|| self.plan_subtree(depth, &leaves))
            }
            Some(Node::Leaf(leaf)) => self.update_leaf(leaf, depth, changes),
            Some(Node::Branch(branch)) => self.update_branch(branch, branch.prefix(), depth, changes),
            Some(Node::Stub) => {
                assert!(changes.is_empty(), "{MUST_BE_LOADED}");
                None
            }
        }
    }

    fn count_keys(&mut self, new: usize, old: usize) {
        self.added += new.cast_signed() - old.cast_signed();
    }

    fn update_leaf(
        &mut self,
        leaf: &Arc<Leaf<V>>,
        depth: usize,
        changes: &mut [Change<V>],
    ) -> Option<ChildSlot<V>> {
        if let [(key, value @ Some(_))] = changes
            && *key == leaf.key
        {
            let value = value.take()?;
            return Some(self.plan_leaf(Arc::new(Leaf { key: key.clone(), value }), depth));
        }
        let at = changes.partition_point(|(key, _)| *key < leaf.key);
        let replaced = changes.get(at).is_some_and(|(key, _)| *key == leaf.key);
        let (before, after) = changes.split_at_mut(at);
        let mut leaves: Vec<_> = inserted_leaves(before).collect();
        if !replaced {
            leaves.push(Arc::clone(leaf));
        }
        leaves.extend(inserted_leaves(after));
        if !replaced && leaves.len() == 1 {
            return None;
        }
        self.count_keys(leaves.len(), 1);
        Some(if leaves.is_empty() { ChildSlot::Empty } else { self.plan_subtree(depth, &leaves) })
    }

    /// Plans a new subtree of at least one leaf; the leaves are in key order.
    fn plan_subtree(&mut self, depth: usize, leaves: &[Arc<Leaf<V>>]) -> ChildSlot<V> {
        let (first, last) = (&leaves[0], &leaves[leaves.len() - 1]);
        if leaves.len() == 1 {
            return self.plan_leaf(Arc::clone(first), depth);
        }
        let at = depth + first.key.shared_with(&last.key, depth);
        let ends_here = first.key.nibble_count() == at;
        let mut builder = self.begin_branch(None, ends_here.then(|| Arc::clone(first)));
        for group in leaves[usize::from(ends_here)..].chunk_by(|a, b| a.key.nibble(at) == b.key.nibble(at)) {
            let slot = self.plan_subtree(at + 1, group);
            self.set_child(&mut builder, group[0].key.nibble(at), slot);
        }
        self.plan_branch(builder, first.key.nibbles(depth, at))
    }

    /// Same as [`UpdatePlan::update`], for a branch of which only the end of the prefix may be left.
    fn update_branch(
        &mut self,
        branch: &Branch<V>,
        prefix: &[u8],
        depth: usize,
        mut changes: &mut [Change<V>],
    ) -> Option<ChildSlot<V>> {
        let mut shared = common_prefix_length(changes, prefix, depth);
        if shared < prefix.len() {
            // A key that diverges from the prefix is not in the trie: deleting it changes nothing.
            let retained = retain_in_front(changes, |(key, value)| {
                value.is_some() || key.shared_prefix(prefix, depth) == prefix.len()
            });
            changes = &mut changes[..retained];
            shared = common_prefix_length(changes, prefix, depth);
        }
        if changes.is_empty() {
            return None;
        }
        if shared < prefix.len() {
            return Some(self.split_prefix(branch, prefix, shared, depth, changes));
        }
        self.update_children(branch, prefix, depth, changes)
    }

    /// Inserts a new branch into a prefix at the position where an inserted key diverges.
    fn split_prefix(
        &mut self,
        branch: &Branch<V>,
        prefix: &[u8],
        shared: usize,
        depth: usize,
        changes: &mut [Change<V>],
    ) -> ChildSlot<V> {
        let at = depth + shared;
        let BranchValue { value, remaining: mut rest, .. } = self.split_off_value(None, at, changes);
        let mut builder = self.begin_branch(None, value);
        for nibble in 0..16 {
            let (group, tail) = next_group(rest, at, nibble);
            rest = tail;
            let slot = if nibble == prefix[shared] {
                self.update_below_split(branch, &prefix[shared + 1..], at + 1, group)
            } else {
                self.update(None, at + 1, group).unwrap_or(ChildSlot::Empty)
            };
            self.set_child(&mut builder, nibble, slot);
        }
        self.finish_branch(builder, &prefix[..shared], depth)
    }

    /// Plans the branch below a split prefix: a new node even if nothing below it changes.
    fn update_below_split(
        &mut self,
        branch: &Branch<V>,
        prefix: &[u8],
        depth: usize,
        changes: &mut [Change<V>],
    ) -> ChildSlot<V> {
        let changed =
            if changes.is_empty() { None } else { self.update_branch(branch, prefix, depth, changes) };
        changed.unwrap_or_else(|| self.plan_copy(branch, prefix.into()))
    }

    /// Applies changes that are all below `prefix`.
    fn update_children(
        &mut self,
        branch: &Branch<V>,
        prefix: &[u8],
        depth: usize,
        changes: &mut [Change<V>],
    ) -> Option<ChildSlot<V>> {
        let at = depth + prefix.len();
        let BranchValue { value, mut changed, remaining: mut rest } =
            self.split_off_value(branch.value(), at, changes);
        let mut builder = self.begin_branch(Some(branch), value);
        while let Some((first, _)) = rest.first() {
            let nibble = first.nibble(at);
            let (group, tail) = next_group(rest, at, nibble);
            rest = tail;
            if let Some(slot) = self.update(branch.child(nibble), at + 1, group) {
                changed = true;
                self.set_child(&mut builder, nibble, slot);
            }
        }
        changed.then(|| self.finish_branch(builder, prefix, depth))
    }

    /// Splits the change of a branch's own value off the changes.
    pub fn split_off_value<'c>(
        &mut self,
        old: Option<&Arc<Leaf<V>>>,
        at: usize,
        changes: &'c mut [Change<V>],
    ) -> BranchValue<'c, V> {
        let ends_here = changes.first().is_some_and(|(key, _)| key.nibble_count() == at);
        let (own, rest) = changes.split_at_mut(usize::from(ends_here));
        if own.is_empty() {
            return BranchValue { value: old.cloned(), changed: false, remaining: rest };
        }
        let value = inserted_leaves(own).next();
        self.count_keys(usize::from(value.is_some()), usize::from(old.is_some()));
        let changed = value.is_some() || old.is_some();
        BranchValue { value, changed, remaining: rest }
    }

    /// Begins a branch with the children of `old`.
    pub fn begin_branch(&self, old: Option<&Branch<V>>, value: Option<Arc<Leaf<V>>>) -> BranchBuilder<V> {
        let mask = old.map_or(0, Branch::mask);
        BranchBuilder { old: old.cloned(), value, mask, start: self.open.len() }
    }

    /// Sets a child. Children are set in ascending order, after everything below them is planned.
    pub fn set_child(&mut self, builder: &mut BranchBuilder<V>, nibble: u8, slot: ChildSlot<V>) {
        let bit = 1 << nibble;
        match slot {
            ChildSlot::Empty if builder.mask & bit == 0 => return,
            ChildSlot::Empty => builder.mask &= !bit,
            ChildSlot::Hashed(_) | ChildSlot::Planned(_) => builder.mask |= bit,
        }
        self.open.push((nibble, slot));
    }

    /// Plans a branch; if it has fewer than two entries, plans the remaining one in its place.
    pub fn finish_branch(&mut self, builder: BranchBuilder<V>, prefix: &[u8], depth: usize) -> ChildSlot<V> {
        match (builder.mask.count_ones(), &builder.value) {
            (0, value) => {
                self.open.truncate(builder.start);
                value.clone().map_or(ChildSlot::Empty, |leaf| self.plan_leaf(leaf, depth))
            }
            (1, None) => {
                let nibble = u8::try_from(builder.mask.trailing_zeros()).expect("one bit of sixteen is set");
                let unchanged = builder.old.as_ref().and_then(|old| old.child(nibble)).cloned();
                let mut set = self.open.drain(builder.start..).map(|(_, slot)| slot);
                let only = set.find(|slot| !matches!(slot, ChildSlot::Empty));
                drop(set);
                let only = only.or(unchanged.map(ChildSlot::Hashed)).unwrap_or(ChildSlot::Empty);
                self.merge_into_child(prefix, nibble, depth, only)
            }
            _ => self.plan_branch(builder, prefix.into()),
        }
    }

    /// Replaces a branch by its only child.
    fn merge_into_child(
        &mut self,
        prefix: &[u8],
        nibble: u8,
        depth: usize,
        only: ChildSlot<V>,
    ) -> ChildSlot<V> {
        let joined = |tail: &[u8]| [prefix, &[nibble], tail].concat().into_boxed_slice();
        match only {
            ChildSlot::Empty => ChildSlot::Empty,
            ChildSlot::Hashed(Child { node: Node::Leaf(leaf), .. }) => self.plan_leaf(leaf, depth),
            ChildSlot::Hashed(Child { node: Node::Branch(branch), .. }) => {
                self.plan_copy(&branch, joined(branch.prefix()))
            }
            ChildSlot::Hashed(Child { node: Node::Stub, .. }) => unreachable!("{MUST_BE_LOADED}"),
            ChildSlot::Planned(position) => {
                match &mut self.heights[position.height][position.index] {
                    PlannedNode::Leaf { depth: leaf_depth, .. } => *leaf_depth = depth,
                    PlannedNode::Branch(branch) => branch.prefix = joined(&branch.prefix),
                }
                only
            }
        }
    }

    fn plan_copy(&mut self, branch: &Branch<V>, prefix: Box<[u8]>) -> ChildSlot<V> {
        let builder = self.begin_branch(Some(branch), branch.value().cloned());
        self.plan_branch(builder, prefix)
    }

    fn plan_leaf(&mut self, leaf: Arc<Leaf<V>>, depth: usize) -> ChildSlot<V> {
        self.plan(0, PlannedNode::Leaf { leaf, depth })
    }

    fn plan_branch(&mut self, builder: BranchBuilder<V>, prefix: Box<[u8]>) -> ChildSlot<V> {
        let BranchBuilder { old, value, mask, start } = builder;
        let above = |(_, slot): &(u8, ChildSlot<V>)| match slot {
            ChildSlot::Planned(position) => position.height + 1,
            ChildSlot::Hashed(_) | ChildSlot::Empty => 0,
        };
        let height = self.open[start..].iter().map(above).max().unwrap_or(0);
        let first_link = self.links.len();
        self.links.extend(self.open.drain(start..));
        let links = first_link..self.links.len();
        self.plan(height, PlannedNode::Branch(PlannedBranch { old, prefix, value, mask, links }))
    }

    fn plan(&mut self, height: usize, node: PlannedNode<V>) -> ChildSlot<V> {
        if self.heights.len() <= height {
            self.heights.resize_with(height + 1, Vec::new);
        }
        let nodes = &mut self.heights[height];
        nodes.push(node);
        ChildSlot::Planned(PlanIndex { height, index: nodes.len() - 1 })
    }
}

/// Splits off the changes whose nibble at `at` is `nibble`; no change has a smaller nibble there.
pub(crate) fn next_group<V>(
    changes: &mut [Change<V>],
    at: usize,
    nibble: u8,
) -> (&mut [Change<V>], &mut [Change<V>]) {
    let length = match changes {
        [] => 0,
        [(first, _), ..] if first.nibble(at) != nibble => 0,
        [_] => 1,
        [_, (second, _), ..] if second.nibble(at) != nibble => 1,
        _ => changes.partition_point(|(key, _)| key.nibble(at) == nibble),
    };
    changes.split_at_mut(length)
}

fn inserted_leaves<V>(changes: &mut [Change<V>]) -> impl Iterator<Item = Arc<Leaf<V>>> {
    let leaf = |(key, value): &mut (Key, Option<V>)| {
        value.take().map(|value| Arc::new(Leaf { key: key.clone(), value }))
    };
    changes.iter_mut().filter_map(leaf)
}

/// Returns the number of leading nibbles of `prefix` that all the sorted changes share.
fn common_prefix_length<V>(changes: &[Change<V>], prefix: &[u8], depth: usize) -> usize {
    match changes {
        _ if prefix.is_empty() => 0,
        [] => prefix.len(),
        [(first, _), .., (last, _)] => {
            first.shared_prefix(prefix, depth).min(last.shared_prefix(prefix, depth))
        }
        [(only, _)] => only.shared_prefix(prefix, depth),
    }
}

/// Moves the retained elements to the front, in order, and returns their number.
fn retain_in_front<T>(items: &mut [T], keep: impl Fn(&T) -> bool) -> usize {
    let mut retained = 0;
    for at in 0..items.len() {
        if keep(&items[at]) {
            items.swap(retained, at);
            retained += 1;
        }
    }
    retained
}
