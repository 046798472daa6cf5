//! Applies a large batch of changes to the subtrees of the root in parallel.

use rayon::prelude::*;

use crate::{
    Change, Value,
    build::{BranchValue, Build, ChildSlot, next_group},
    node::{Branch, Child},
    walk,
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
    let piece = (16 * CHUNK_SIZE).div_ceil(changes.len().max(1)).min(16);
    let mut build = Build::default();
    let BranchValue { value, mut changed, below } =
        build.next_value(root.and_then(Branch::value), 0, changes);
    let pieces: Vec<_> = work_below(root, below).par_chunks_mut(piece).map(run).collect();
    let mut draft = build.draft(root, value);
    for ChangedChildren { children, added } in pieces {
        changed |= !children.is_empty();
        build.added += added;
        for (nibble, child) in children {
            build.put(&mut draft, nibble, child.map_or(ChildSlot::Empty, ChildSlot::Sealed));
        }
    }
    if !changed {
        return None;
    }
    let slot = build.finish(draft, &[], 0);
    let added = build.added;
    Some((build.seal(vec![slot]).pop().flatten(), added))
}

/// One child of the root and the changes below it.
struct Work<'t, V> {
    nibble: u8,
    old: Option<&'t Child<V>>,
    changes: &'t mut [Change<V>],
}

/// The changed children of the root in one portion of the work, and the number of added keys.
struct ChangedChildren<V> {
    children: Vec<(u8, Option<Child<V>>)>,
    added: isize,
}

fn work_below<'t, V>(branch: Option<&'t Branch<V>>, mut changes: &'t mut [Change<V>]) -> Vec<Work<'t, V>> {
    let mut work = Vec::with_capacity(16);
    for nibble in 0..16 {
        let (group, tail) = next_group(changes, 0, nibble);
        changes = tail;
        work.push(Work { nibble, old: branch.and_then(|branch| branch.child(nibble)), changes: group });
    }
    work
}

/// Plans and hashes the nodes below some children of the root.
fn run<V: Value>(work: &mut [Work<'_, V>]) -> ChangedChildren<V> {
    let mut build = Build::default();
    let (mut nibbles, mut slots) = (Vec::new(), Vec::new());
    for Work { nibble, old, changes } in work.iter_mut().filter(|work| !work.changes.is_empty()) {
        walk::fetch(*old, 1, changes);
        if let Some(slot) = build.update(*old, 1, changes) {
            nibbles.push(*nibble);
            slots.push(slot);
        }
    }
    let added = build.added;
    ChangedChildren { children: nibbles.into_iter().zip(build.seal(slots)).collect(), added }
}
