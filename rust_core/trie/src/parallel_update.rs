//! Applies a large batch of changes to the subtrees of the root in parallel.

use rayon::prelude::*;

use crate::{
    change::Change,
    get,
    node::{Branch, Child, Value},
    update_plan::{BranchValue, ChildSlot, UpdatePlan, next_group},
};

/// Approximate number of changes that are planned and hashed together: enough to fill the batches of the hash
/// function, and few enough that their nodes fit into a core's own cache.
const CHUNK_SIZE: usize = 128;

/// Applies sorted changes. Returns the new root node and the number of added keys, or `None` if nothing
/// changed. `root` has no prefix; it is `None` for an empty trie.
pub(crate) fn apply<V: Value>(
    root: Option<&Branch<V>>,
    changes: &mut [Change<V>],
) -> Option<(Option<Child<V>>, isize)> {
    let subtrees_per_task = (16 * CHUNK_SIZE).div_ceil(changes.len().max(1)).min(16);
    let mut plan = UpdatePlan::default();
    let BranchValue { value, mut changed, remaining: below } =
        plan.split_off_value(root.and_then(Branch::value), 0, changes);
    let results: Vec<_> =
        split_by_nibble(root, below).par_chunks_mut(subtrees_per_task).map(update_subtrees).collect();
    let mut builder = plan.begin_branch(root, value);
    for ChangedChildren { children, added } in results {
        changed |= !children.is_empty();
        plan.added += added;
        for (nibble, child) in children {
            plan.set_child(&mut builder, nibble, child.map_or(ChildSlot::Empty, ChildSlot::Hashed));
        }
    }
    if !changed {
        return None;
    }
    let slot = plan.finish_branch(builder, &[], 0);
    let added = plan.added;
    Some((plan.hash_nodes(vec![slot]).pop().flatten(), added))
}

/// One child of the root and the changes below it.
struct SubtreeUpdate<'t, V> {
    nibble: u8,
    old: Option<&'t Child<V>>,
    changes: &'t mut [Change<V>],
}

/// The changed children of the root in one portion of the work, and the number of added keys.
struct ChangedChildren<V> {
    children: Vec<(u8, Option<Child<V>>)>,
    added: isize,
}

fn split_by_nibble<'t, V>(
    branch: Option<&'t Branch<V>>,
    mut changes: &'t mut [Change<V>],
) -> Vec<SubtreeUpdate<'t, V>> {
    let mut updates = Vec::with_capacity(16);
    for nibble in 0..16 {
        let (group, tail) = next_group(changes, 0, nibble);
        changes = tail;
        updates.push(SubtreeUpdate {
            nibble,
            old: branch.and_then(|branch| branch.child(nibble)),
            changes: group,
        });
    }
    updates
}

/// Plans and hashes the nodes below some children of the root.
fn update_subtrees<V: Value>(updates: &mut [SubtreeUpdate<'_, V>]) -> ChangedChildren<V> {
    let mut plan = UpdatePlan::default();
    let (mut nibbles, mut slots) = (Vec::new(), Vec::new());
    for SubtreeUpdate { nibble, old, changes } in updates.iter_mut().filter(|work| !work.changes.is_empty()) {
        get::prefetch(*old, 1, changes);
        if let Some(slot) = plan.update(*old, 1, changes) {
            nibbles.push(*nibble);
            slots.push(slot);
        }
    }
    let added = plan.added;
    ChangedChildren { children: nibbles.into_iter().zip(plan.hash_nodes(slots)).collect(), added }
}
