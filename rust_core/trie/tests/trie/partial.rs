//! Compares tries that are partly in a source with the same tries entirely in memory.

use std::collections::BTreeMap;

use crate::versions::{Nodes, Version};
use alloy_primitives::{B256, keccak256};
use alloy_trie::{Nibbles, proof::verify_proof};
use foreseal_trie::{
    Change, EMPTY_ROOT, InMemory, Key, LoadError, Lookup, NodeChangeKind, RequiredKey, Trie,
};
use proptest::{collection::vec, option, prelude::*};

type Tree = Trie<Vec<u8>>;
type Batch = Vec<(Vec<u8>, Option<Vec<u8>>)>;

fn key(bytes: &[u8]) -> Key {
    Key::new(bytes).expect("a key short enough")
}

fn changes(batch: &Batch) -> Vec<Change<Vec<u8>>> {
    batch.iter().map(|(k, v)| (key(k), v.clone())).collect()
}

fn want(bytes: &[u8]) -> RequiredKey {
    RequiredKey { key: key(bytes), deleted: false }
}

/// Returns the next snapshot of a trie with stubs.
fn apply(trie: &Tree, batch: &Batch, source: &Version<'_>) -> Tree {
    // `apply` uses the last of several changes of a key, so only that one decides about the deletion.
    let last: BTreeMap<_, _> = batch.iter().map(|(k, v)| (k.clone(), v.is_none())).collect();
    let wants = last.into_iter().map(|(k, deleted)| RequiredKey { key: key(&k), deleted });
    trie.load_in_parallel(wants, source).expect("every node is stored").apply(changes(batch))
}

fn unloaded(mut trie: Tree, old: &Tree, portions: impl IntoIterator<Item = u8>) -> Tree {
    for portion in portions {
        trie = trie.evict_unchanged(old, Some(portion), |_, _| None).unwrap_or(trie);
    }
    trie
}

/// Compares every result of a stored version with that of the trie in memory.
fn assert_same(complete: &Tree, stored: &Tree, source: &Version<'_>, queried: &[Vec<u8>]) {
    assert_eq!(complete.root(), stored.root());
    let loaded = stored.load(queried.iter().map(|bytes| want(bytes)), source).expect("every node is stored");
    assert_eq!(loaded.root(), complete.root());
    for bytes in queried {
        assert_eq!(loaded.get(bytes).value(), complete.get(bytes).value());
        assert_eq!(loaded.prove(bytes), complete.prove(bytes));
        match stored.get(bytes) {
            Lookup::Value(value) => assert_eq!(Some(value), complete.get(bytes).value()),
            Lookup::Absent => assert_eq!(None, complete.get(bytes).value()),
            Lookup::Stub => {}
        }
    }
    let all: Vec<_> = complete.iter(InMemory).map(|pair| pair.expect("nothing is loaded")).collect();
    let read: Vec<_> = stored.iter(source).map(|pair| pair.expect("every node is stored")).collect();
    assert_eq!(read, all);
}

/// Generates keys that share prefixes or are prefixes of one another; short
/// values yield nodes that are held inline.
fn close_key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0x00), Just(0x01), Just(0x10), Just(0x11), Just(0xff)];
    prop_oneof![8 => vec(byte, 0..5), 1 => vec(any::<u8>(), 30..40)]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 1..4), vec(any::<u8>(), 20..40), vec(any::<u8>(), 60..300)]
}

/// Generates batches, and the number of batches between two writes.
fn history() -> impl Strategy<Value = (Vec<Batch>, u64)> {
    (vec(vec((close_key(), option::weighted(0.55, value())), 0..20), 1..10), 1u64..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Unloads the live trie after every write, so that its next batch works on stubs.
    #[test]
    fn a_history_over_a_node_source_matches_the_model((batches, every) in history(), first in 0u8..16, portions in 0u8..17) {
        let (mut nodes, mut complete, mut live) = (Nodes::default(), Tree::default(), Tree::default());
        let mut written = (Tree::default(), 0);
        let mut snapshots = vec![(Tree::default(), 0)];
        for (number, batch) in (1u64..).zip(&batches) {
            live = apply(&live, batch, &nodes.at(written.1));
            complete = complete.apply(changes(batch));
            prop_assert_eq!(live.root(), complete.root());
            if number.is_multiple_of(every) {
                let source = nodes.at(written.1);
                let changes = live.diff_from(&source, &written.0, &source, false).expect("every node is stored");
                nodes.write(number, &changes.nodes);
                nodes.assert_holds(number, &complete);
                live = unloaded(live.clone(), &live, (first..16).chain(0..first).take(portions.into()));
                written = (live.clone(), number);
                snapshots.push((complete.clone(), number));
            }
        }
        let queried: Vec<Vec<u8>> = batches.iter().flatten().map(|(k, _)| k.clone()).collect();
        for (complete, number) in &snapshots {
            assert_same(complete, &Tree::from_root(complete.root()), &nodes.at(*number), &queried);
        }
        assert_same(&complete, &live, &nodes.at(written.1), &queried);
    }

    /// The differences between two snapshots do not depend on whether they are in memory.
    #[test]
    fn changes_between_stubs_have_the_right_root((batches, _) in history()) {
        let mut nodes = Nodes::default();
        let mut tries = vec![Tree::default()];
        for (number, batch) in (1u64..).zip(&batches) {
            let old = &tries[tries.len() - 1];
            let next = old.apply(changes(batch));
            nodes.write(number, &next.diff_from(&Nodes::default().at(0), old, &Nodes::default().at(0), false).unwrap().nodes);
            tries.push(next);
        }
        for (from, old) in (0..).zip(&tries) {
            for (to, new) in (0..).zip(&tries) {
                let (new_source, old_source) = (nodes.at(to), nodes.at(from));
                let complete = new.diff_from(&new_source, old, &old_source, true).unwrap();
                let stubs = Tree::from_root(new.root()).diff_from(&new_source, &Tree::from_root(old.root()), &old_source, true).unwrap();
                prop_assert_eq!(&complete.nodes, &stubs.nodes);
                prop_assert_eq!(&complete.new_values, &stubs.new_values);
                prop_assert_eq!(&complete.old_values, &stubs.old_values);
                prop_assert!(complete.nodes.is_sorted_by(|a, b| a.path < b.path));
                prop_assert!(complete.new_values.is_sorted_by(|a, b| a.0.as_slice() < b.0.as_slice()));
                prop_assert!(complete.old_values.is_sorted_by(|a, b| a.0.as_slice() < b.0.as_slice()));
                // Every added, removed or changed value is listed.
                let (old, new) = (model(old), model(new));
                for (key, value) in &new {
                    prop_assert!(old.get(key) == Some(value) || named(&complete.new_values, key));
                }
                for (key, value) in &old {
                    prop_assert!(new.get(key) == Some(value) || named(&complete.old_values, key));
                }
            }
        }
    }

    /// With one changed byte in a node, or a missing node, a read returns an error
    /// with its path, or does not need the node.
    #[test]
    fn damage_is_named(
        (batches, _) in history(), node in any::<prop::sample::Index>(), byte in any::<prop::sample::Index>(),
        bit in 0u32..9, extra in any::<bool>(),
    ) {
        let complete = batches.iter().fold(Tree::default(), |trie, batch| trie.apply(changes(batch)));
        let mut nodes = Nodes::from_trie(&complete);
        prop_assume!(!nodes.is_empty());
        let path = nodes.damage(node, |stored| {
            let at = byte.index(stored.len());
            match 1u8.checked_shl(bit) {
                Some(mask) => stored[at] ^= mask,
                None if extra => stored.push(0x80),
                None => stored.truncate(at),
            }
        });
        let stub = Tree::from_root(complete.root());
        let errors: Vec<_> = stub.iter(nodes.at(1)).filter_map(Result::err).collect();
        prop_assert_eq!(errors.len(), 1, "iteration reads every node, up to the damaged one");
        let error = errors[0].clone();
        let (LoadError::Hash { path: named } | LoadError::Malformed { path: named }) = &error else {
            return Err(TestCaseError::fail(format!("{error}")));
        };
        prop_assert_eq!(named, &path);
        for (key, value) in model(&complete) {
            match stub.load([RequiredKey { key: Key::new(&key).unwrap(), deleted: true }], &nodes.at(1)) {
                Ok(loaded) => prop_assert_eq!(loaded.get(&key).value(), Some(&value)),
                Err(other) => prop_assert_eq!(&other, &error),
            }
        }
        nodes.remove(&path);
        let missing = stub.iter(nodes.at(1)).find_map(Result::err);
        prop_assert_eq!(missing, Some(LoadError::Missing { path }));
    }
}

fn named(values: &[(Key, Vec<u8>)], key: &[u8]) -> bool {
    values.binary_search_by(|(named, _)| named.as_slice().cmp(key)).is_ok()
}

fn model(trie: &Tree) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let pairs = trie.iter(InMemory).map(|pair| pair.expect("nothing is loaded"));
    pairs.map(|(key, value)| (key.as_slice().to_vec(), value)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Uses hashed keys and batches on both sides of the size from which work is
    /// forked. No version starts with nodes in memory.
    #[test]
    fn hashed_keys_against_alloy(
        batches in vec(vec((0u64..1500, option::weighted(0.5, value())), 0..800), 1..5),
    ) {
        let (mut nodes, mut model, mut tries) = (Nodes::default(), BTreeMap::new(), vec![Tree::default()]);
        for (number, batch) in (1u64..).zip(batches) {
            let batch: Batch = batch.into_iter().map(|(k, v)| (keccak256(k.to_be_bytes()).to_vec(), v)).collect();
            for (key, value) in &batch {
                let key = B256::from_slice(key);
                match value {
                    Some(value) => model.insert(key, value.clone()),
                    None => model.remove(&key),
                };
            }
            let old = Tree::from_root(tries[tries.len() - 1].root());
            let source = nodes.at(number - 1);
            let next = apply(&old, &batch, &source);
            prop_assert_eq!(next.root(), crate::alloy::root(&model));
            let changes = next.diff_from(&source, &old, &source, false).unwrap();
            nodes.write(number, &changes.nodes);
            for (key, _) in batch.iter().take(20) {
                let stored = Tree::from_root(next.root()).load([want(key)], &nodes.at(number)).unwrap();
                let expected = model.get(&B256::from_slice(key)).cloned();
                verify_proof(next.root(), Nibbles::unpack(key), expected, &stored.prove(key)).unwrap();
            }
            tries.push(next);
        }
    }
}

/// If one of a branch's two children is deleted, the other is loaded to
/// replace the branch, regardless of its kind.
#[test]
fn the_last_child_of_a_branch_is_loaded() {
    let long = Some(vec![7; 40]);
    let trees: [&[&[u8]]; 3] = [
        &[&[0x10], &[0x20]],                      // a leaf is left
        &[&[0x10], &[0x20, 0x01], &[0x20, 0x02]], // a branch under an extension is left
        &[&[0x10], &[0x20], &[0x21], &[0x2f]],    // a branch is left
    ];
    for keys in trees {
        let batch: Batch = keys.iter().map(|key| (key.to_vec(), long.clone())).collect();
        let complete = Tree::default().apply(changes(&batch));
        let nodes = Nodes::from_trie(&complete);
        let removals = vec![(vec![0x10], None)];
        let next = apply(&Tree::from_root(complete.root()), &removals, &nodes.at(1));
        assert_eq!(next.root(), complete.apply(changes(&removals)).root());
        assert_eq!(next.len(), None);
    }
}

/// Loading makes the requested part of a stub readable; nothing else is loaded.
#[test]
fn only_the_required_nodes_are_loaded() {
    let batch: Batch =
        (0u32..2_000).map(|at| (keccak256(at.to_be_bytes()).to_vec(), Some(vec![1; 40]))).collect();
    let complete = Tree::default().apply(changes(&batch));
    let nodes = Nodes::from_trie(&complete);
    let source = nodes.at(1);
    let stub = Tree::from_root(complete.root());
    assert!(matches!(stub.get(&batch[0].0), Lookup::Stub));
    assert!(!stub.is_empty());
    let loaded = stub.load([want(&batch[0].0)], &source).unwrap();
    assert!((3..=6).contains(&source.reads()), "{} reads for one key of 2,000", source.reads());
    assert_eq!(loaded.get(&batch[0].0).value(), Some(&vec![1; 40]));
    let before = source.reads();
    let again = loaded.load([want(&batch[0].0)], &source).unwrap();
    assert_eq!(source.reads(), before);
    // One leaf changed: only the path to it differs, and that part of the old snapshot is in memory.
    let next = again.apply(vec![(key(&batch[0].0), Some(vec![2; 40]))]);
    let changed = next.diff_from(&source, &again, &source, false).unwrap();
    assert_eq!(source.reads(), before);
    assert!(changed.nodes.iter().all(|change| matches!(change.write, NodeChangeKind::Stored(_))));
    assert_eq!(changed.nodes.len(), before);
    // After unloading, a load reads the same nodes as at the beginning, except the root.
    let less = unloaded(again.clone(), &again, 0..16);
    less.load([want(&batch[0].0)], &source).unwrap();
    assert_eq!(source.reads(), before * 2 - 1);
}

/// A portion affects only its own sixteenth.
/// More nodes than one task loads are missing, at several levels.
#[test]
fn many_nodes_are_loaded_in_parallel() {
    let pairs = |from: u64, to: u64| -> Batch {
        (from..to).map(|at| (keccak256(at.to_be_bytes()).to_vec(), Some(vec![1; 40]))).collect()
    };
    let complete = Tree::default().apply(changes(&pairs(0, 5_000)));
    let mut nodes = Nodes::default();
    let empty = Nodes::default();
    let written = complete.diff_from(&empty.at(0), &Tree::default(), &empty.at(0), false).unwrap();
    nodes.write(1, &written.nodes);
    let stored = Tree::from_root(complete.root());
    let update: Batch = pairs(1_000, 3_000).into_iter().map(|(key, _)| (key, Some(vec![2; 40]))).collect();
    let updated = apply(&stored, &update, &nodes.at(1));
    assert_eq!(updated.root(), complete.apply(changes(&update)).root());
    // Several chunks miss nodes: the error is that of the first, as on one thread.
    let wants = || update.iter().map(|(key, _)| want(key));
    let written: Vec<_> = written.nodes.into_iter().filter(|change| change.path.len() < 3).collect();
    let mut upper = Nodes::default();
    upper.write(1, &written);
    let error = stored.load_in_parallel(wants(), &upper.at(1)).map(drop).unwrap_err();
    assert_eq!(error, stored.load(wants(), &upper.at(1)).map(drop).unwrap_err());
}

#[test]
fn a_portion_is_a_sixteenth_of_the_keys() {
    let batch: Batch =
        (0u32..2_000).map(|at| (keccak256(at.to_be_bytes()).to_vec(), Some(vec![1; 40]))).collect();
    let complete = Tree::default().apply(changes(&batch));
    let less = unloaded(complete.clone(), &complete, [5]);
    for (bytes, _) in &batch {
        assert_eq!(matches!(less.get(bytes), Lookup::Stub), bytes[0] >> 4 == 5);
    }
    assert!(less.evict_unchanged(&complete, Some(5), |_, _| None).is_none());
}

#[test]
fn a_stub_of_the_empty_root_is_empty() {
    let stub = Tree::from_root(EMPTY_ROOT);
    assert!(stub.is_empty());
    assert_eq!(stub.len(), Some(0));
    assert_eq!(stub.load([want(b"k")], &InMemory).unwrap().root(), EMPTY_ROOT);
}

/// Equal does not mean unchanged: the node differed between the two
/// snapshots, so a stub would not be valid there.
#[test]
fn a_node_changed_and_restored_is_not_evicted() {
    let batch: Batch =
        (0u32..2_000).map(|at| (keccak256(at.to_be_bytes()).to_vec(), Some(vec![1; 40]))).collect();
    let old = Tree::default().apply(changes(&batch));
    let other = old.apply(vec![(key(&batch[0].0), Some(vec![2; 40]))]);
    let back = other.apply(vec![(key(&batch[0].0), Some(vec![1; 40]))]);
    assert_eq!(back.root(), old.root());
    let less = unloaded(back.clone(), &old, 0..16);
    assert!(matches!(less.get(&batch[0].0), Lookup::Value(_)));
    let stubs = batch.iter().filter(|(key, _)| matches!(less.get(key), Lookup::Stub)).count();
    assert!(stubs > 1_900, "{stubs} of 2,000");
    // The node has not changed since the newer reference snapshot, so it becomes a stub.
    assert!(matches!(unloaded(less.clone(), &less, 0..16).get(&batch[0].0), Lookup::Stub));
}
