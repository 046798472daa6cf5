//! Plans the nodes that a batch of changes creates.
//!
//! The plan groups nodes by their height above the lowest new node, so that [`crate::seal`] can hash a whole
//! height at once. For each new branch it lists only the children that differ from the old branch.

use std::ops::Range;

use triomphe::Arc;

use crate::{
    Change, Key, Value,
    node::{Branch, Child, LOADED, Leaf, Node},
};

/// A child position in the tree under construction.
pub(crate) enum ChildSlot<V> {
    Empty,
    /// A node that has its reference already.
    Sealed(Child<V>),
    /// A planned node.
    New(Position),
}

/// Position of a planned node: its height, and its index among the nodes of that height.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub height: usize,
    pub index: usize,
}

/// A node that has no reference yet.
pub(crate) enum Planned<V> {
    Leaf { leaf: Arc<Leaf<V>>, depth: usize },
    Branch(PlannedBranch<V>),
}

pub(crate) struct PlannedBranch<V> {
    /// Branch that provides the unchanged children.
    pub old: Option<Branch<V>>,
    pub prefix: Box<[u8]>,
    pub value: Option<Arc<Leaf<V>>>,
    pub mask: u16,
    /// Range in [`Build::links`] of the children that changed or were removed.
    pub links: Range<usize>,
}

/// A branch whose children are being planned.
pub(crate) struct Draft<V> {
    pub old: Option<Branch<V>>,
    pub value: Option<Arc<Leaf<V>>>,
    pub mask: u16,
    /// Index in [`Build::open`] of its first changed child.
    start: usize,
}

/// The value of a branch after the changes, and the remaining changes.
pub(crate) struct BranchValue<'c, V> {
    pub value: Option<Arc<Leaf<V>>>,
    pub changed: bool,
    pub below: &'c mut [Change<V>],
}

/// A plan, and the number of keys that it adds to the trie.
pub(crate) struct Build<V> {
    pub heights: Vec<Vec<Planned<V>>>,
    /// The changed children of all planned branches.
    pub links: Vec<(u8, ChildSlot<V>)>,
    /// The changed children of the branches that are being planned, outermost first.
    open: Vec<(u8, ChildSlot<V>)>,
    pub added: isize,
}

impl<V> Default for Build<V> {
    fn default() -> Self {
        Self { heights: Vec::new(), links: Vec::new(), open: Vec::new(), added: 0 }
    }
}

impl<V: Value> Build<V> {
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
                let leaves: Vec<_> = inserted(changes).collect();
                self.count(leaves.len(), 0);
                (!leaves.is_empty()).then(|| self.grow(depth, &leaves))
            }
            Some(Node::Leaf(leaf)) => self.update_leaf(leaf, depth, changes),
            Some(Node::Branch(branch)) => self.update_branch(branch, branch.prefix(), depth, changes),
            Some(Node::Stub) => {
                assert!(changes.is_empty(), "{LOADED}");
                None
            }
        }
    }

    fn count(&mut self, now: usize, before: usize) {
        self.added += now.cast_signed() - before.cast_signed();
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
        let mut leaves: Vec<_> = inserted(before).collect();
        if !replaced {
            leaves.push(Arc::clone(leaf));
        }
        leaves.extend(inserted(after));
        if !replaced && leaves.len() == 1 {
            return None;
        }
        self.count(leaves.len(), 1);
        Some(if leaves.is_empty() { ChildSlot::Empty } else { self.grow(depth, &leaves) })
    }

    /// Plans a new subtree of at least one leaf; the leaves are in key order.
    fn grow(&mut self, depth: usize, leaves: &[Arc<Leaf<V>>]) -> ChildSlot<V> {
        let (first, last) = (&leaves[0], &leaves[leaves.len() - 1]);
        if leaves.len() == 1 {
            return self.plan_leaf(Arc::clone(first), depth);
        }
        let at = depth + first.key.shared_with(&last.key, depth);
        let ends_here = first.key.nibble_count() == at;
        let mut draft = self.draft(None, ends_here.then(|| Arc::clone(first)));
        for group in leaves[usize::from(ends_here)..].chunk_by(|a, b| a.key.nibble(at) == b.key.nibble(at)) {
            let slot = self.grow(at + 1, group);
            self.put(&mut draft, group[0].key.nibble(at), slot);
        }
        self.plan_branch(draft, first.key.nibbles(depth, at))
    }

    /// Same as [`Build::update`], for a branch of which only the end of the prefix may be left.
    fn update_branch(
        &mut self,
        branch: &Branch<V>,
        prefix: &[u8],
        depth: usize,
        mut changes: &mut [Change<V>],
    ) -> Option<ChildSlot<V>> {
        let mut shared = shared_by_all(changes, prefix, depth);
        if shared < prefix.len() {
            // A key that diverges from the prefix is not in the trie: deleting it changes nothing.
            let kept = retain(changes, |(key, value)| {
                value.is_some() || key.shared_prefix(prefix, depth) == prefix.len()
            });
            changes = &mut changes[..kept];
            shared = shared_by_all(changes, prefix, depth);
        }
        if changes.is_empty() {
            return None;
        }
        if shared < prefix.len() {
            return Some(self.split(branch, prefix, shared, depth, changes));
        }
        self.update_children(branch, prefix, depth, changes)
    }

    /// Inserts a new branch into a prefix at the position where an inserted key diverges.
    fn split(
        &mut self,
        branch: &Branch<V>,
        prefix: &[u8],
        shared: usize,
        depth: usize,
        changes: &mut [Change<V>],
    ) -> ChildSlot<V> {
        let at = depth + shared;
        let BranchValue { value, below: mut rest, .. } = self.next_value(None, at, changes);
        let mut draft = self.draft(None, value);
        for nibble in 0..16 {
            let (group, tail) = next_group(rest, at, nibble);
            rest = tail;
            let slot = if nibble == prefix[shared] {
                self.update_tail(branch, &prefix[shared + 1..], at + 1, group)
            } else {
                self.update(None, at + 1, group).unwrap_or(ChildSlot::Empty)
            };
            self.put(&mut draft, nibble, slot);
        }
        self.finish(draft, &prefix[..shared], depth)
    }

    /// Plans the branch below a split prefix: a new node even if nothing below it changes.
    fn update_tail(
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
        let BranchValue { value, mut changed, below: mut rest } =
            self.next_value(branch.value(), at, changes);
        let mut draft = self.draft(Some(branch), value);
        while let Some((first, _)) = rest.first() {
            let nibble = first.nibble(at);
            let (group, tail) = next_group(rest, at, nibble);
            rest = tail;
            if let Some(slot) = self.update(branch.child(nibble), at + 1, group) {
                changed = true;
                self.put(&mut draft, nibble, slot);
            }
        }
        changed.then(|| self.finish(draft, prefix, depth))
    }

    /// Splits the change of a branch's own value off the changes.
    pub fn next_value<'c>(
        &mut self,
        old: Option<&Arc<Leaf<V>>>,
        at: usize,
        changes: &'c mut [Change<V>],
    ) -> BranchValue<'c, V> {
        let ends_here = changes.first().is_some_and(|(key, _)| key.nibble_count() == at);
        let (own, rest) = changes.split_at_mut(usize::from(ends_here));
        if own.is_empty() {
            return BranchValue { value: old.cloned(), changed: false, below: rest };
        }
        let value = inserted(own).next();
        self.count(usize::from(value.is_some()), usize::from(old.is_some()));
        let changed = value.is_some() || old.is_some();
        BranchValue { value, changed, below: rest }
    }

    /// Begins a branch with the children of `old`.
    pub fn draft(&self, old: Option<&Branch<V>>, value: Option<Arc<Leaf<V>>>) -> Draft<V> {
        let mask = old.map_or(0, Branch::mask);
        Draft { old: old.cloned(), value, mask, start: self.open.len() }
    }

    /// Sets a child. Children are set in ascending order, after everything below them is planned.
    pub fn put(&mut self, draft: &mut Draft<V>, nibble: u8, slot: ChildSlot<V>) {
        let bit = 1 << nibble;
        match slot {
            ChildSlot::Empty if draft.mask & bit == 0 => return,
            ChildSlot::Empty => draft.mask &= !bit,
            ChildSlot::Sealed(_) | ChildSlot::New(_) => draft.mask |= bit,
        }
        self.open.push((nibble, slot));
    }

    /// Plans a branch; if it has fewer than two entries, plans the remaining one in its place.
    pub fn finish(&mut self, draft: Draft<V>, prefix: &[u8], depth: usize) -> ChildSlot<V> {
        match (draft.mask.count_ones(), &draft.value) {
            (0, value) => {
                self.open.truncate(draft.start);
                value.clone().map_or(ChildSlot::Empty, |leaf| self.plan_leaf(leaf, depth))
            }
            (1, None) => {
                let nibble = u8::try_from(draft.mask.trailing_zeros()).expect("one bit of sixteen is set");
                let kept = draft.old.as_ref().and_then(|old| old.child(nibble)).cloned();
                let mut set = self.open.drain(draft.start..).map(|(_, slot)| slot);
                let only = set.find(|slot| !matches!(slot, ChildSlot::Empty));
                drop(set);
                let only = only.or(kept.map(ChildSlot::Sealed)).unwrap_or(ChildSlot::Empty);
                self.merge(prefix, nibble, depth, only)
            }
            _ => self.plan_branch(draft, prefix.into()),
        }
    }

    /// Replaces a branch by its only child.
    fn merge(&mut self, prefix: &[u8], nibble: u8, depth: usize, only: ChildSlot<V>) -> ChildSlot<V> {
        let joined = |tail: &[u8]| [prefix, &[nibble], tail].concat().into_boxed_slice();
        match only {
            ChildSlot::Empty => ChildSlot::Empty,
            ChildSlot::Sealed(Child { node: Node::Leaf(leaf), .. }) => self.plan_leaf(leaf, depth),
            ChildSlot::Sealed(Child { node: Node::Branch(branch), .. }) => {
                self.plan_copy(&branch, joined(branch.prefix()))
            }
            ChildSlot::Sealed(Child { node: Node::Stub, .. }) => unreachable!("{LOADED}"),
            ChildSlot::New(position) => {
                match &mut self.heights[position.height][position.index] {
                    Planned::Leaf { depth: leaf_depth, .. } => *leaf_depth = depth,
                    Planned::Branch(branch) => branch.prefix = joined(&branch.prefix),
                }
                only
            }
        }
    }

    fn plan_copy(&mut self, branch: &Branch<V>, prefix: Box<[u8]>) -> ChildSlot<V> {
        let draft = self.draft(Some(branch), branch.value().cloned());
        self.plan_branch(draft, prefix)
    }

    fn plan_leaf(&mut self, leaf: Arc<Leaf<V>>, depth: usize) -> ChildSlot<V> {
        self.plan(0, Planned::Leaf { leaf, depth })
    }

    fn plan_branch(&mut self, draft: Draft<V>, prefix: Box<[u8]>) -> ChildSlot<V> {
        let Draft { old, value, mask, start } = draft;
        let above = |(_, slot): &(u8, ChildSlot<V>)| match slot {
            ChildSlot::New(position) => position.height + 1,
            ChildSlot::Sealed(_) | ChildSlot::Empty => 0,
        };
        let height = self.open[start..].iter().map(above).max().unwrap_or(0);
        let first_link = self.links.len();
        self.links.extend(self.open.drain(start..));
        let links = first_link..self.links.len();
        self.plan(height, Planned::Branch(PlannedBranch { old, prefix, value, mask, links }))
    }

    fn plan(&mut self, height: usize, node: Planned<V>) -> ChildSlot<V> {
        if self.heights.len() <= height {
            self.heights.resize_with(height + 1, Vec::new);
        }
        let nodes = &mut self.heights[height];
        nodes.push(node);
        ChildSlot::New(Position { height, index: nodes.len() - 1 })
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

fn inserted<V>(changes: &mut [Change<V>]) -> impl Iterator<Item = Arc<Leaf<V>>> {
    let leaf = |(key, value): &mut (Key, Option<V>)| {
        value.take().map(|value| Arc::new(Leaf { key: key.clone(), value }))
    };
    changes.iter_mut().filter_map(leaf)
}

/// Returns the number of leading nibbles of `prefix` that all the sorted changes share.
fn shared_by_all<V>(changes: &[Change<V>], prefix: &[u8], depth: usize) -> usize {
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
fn retain<T>(items: &mut [T], keep: impl Fn(&T) -> bool) -> usize {
    let mut kept = 0;
    for at in 0..items.len() {
        if keep(&items[at]) {
            items.swap(kept, at);
            kept += 1;
        }
    }
    kept
}
