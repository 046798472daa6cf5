//! Compares the persistent trie with two independent ones: alloy-trie for
//! hashed keys, the yellow paper for any keys.

use std::collections::BTreeMap;

use crate::reference::Model;
use alloy_primitives::{B256, Bytes, keccak256};
use foreseal_trie::{Change, EMPTY_ROOT, InMemory, Key, Lookup, MAX_KEY_BYTES, Trie, Value};
use proptest::{collection::vec, option, prelude::*};

type Batch = Vec<(Vec<u8>, Option<Vec<u8>>)>;

fn key(bytes: &[u8]) -> Key {
    Key::new(bytes).expect("a key short enough")
}

fn change_model(model: &mut Model, batch: &Batch) {
    for (key, value) in batch {
        match value {
            Some(value) => model.insert(key.clone(), value.clone()),
            None => model.remove(key),
        };
    }
}

fn changes(batch: &Batch) -> Vec<Change<Vec<u8>>> {
    batch.iter().map(|(k, v)| (key(k), v.clone())).collect()
}

fn pairs(trie: &Trie<Vec<u8>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = trie.iter(InMemory).map(|pair| pair.expect("nothing is loaded"));
    pairs.map(|(key, value)| (key.as_slice().to_vec(), value)).collect()
}

fn assert_holds(trie: &Trie<Vec<u8>>, model: &Model) {
    assert_eq!(trie.len(), Some(model.len()));
    assert_eq!(trie.is_empty(), model.is_empty());
    let all = pairs(trie);
    assert!(all.is_sorted());
    let all: Model = all.into_iter().collect();
    assert_eq!(&all, model);
    for (key, value) in model {
        assert_eq!(trie.get(key).value(), Some(value));
    }
    // Looks up many keys together, including keys that extend those of the trie.
    let queried: Vec<Vec<u8>> =
        model.keys().flat_map(|key| [key.clone(), [key, &[0x01][..]].concat()]).collect();
    let expected: Vec<_> = queried.iter().map(|key| model.get(key)).collect();
    assert_eq!(trie.get_many(&queried).into_iter().map(Lookup::value).collect::<Vec<_>>(), expected);
}

/// Generates keys that share prefixes or are prefixes of one another.
fn close_key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0x00), Just(0x01), Just(0x10), Just(0x11), Just(0xff)];
    prop_oneof![8 => vec(byte, 0..5), 1 => vec(any::<u8>(), 30..40)]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 1..4), vec(any::<u8>(), 20..40), vec(any::<u8>(), 60..300)]
}

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    vec(vec((close_key(), option::weighted(0.6, value())), 0..20), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_generation_matches_the_model(batches in batches()) {
        let mut model = Model::new();
        let mut trie = Trie::default();
        let mut generations = Vec::new();
        for batch in &batches {
            change_model(&mut model, batch);
            trie = trie.apply(changes(batch));
            prop_assert_eq!(trie.root(), crate::reference::root(&model));
            generations.push((trie.clone(), model.clone()));
        }
        for (trie, model) in &generations {
            assert_holds(trie, model);
            prop_assert_eq!(trie.root(), crate::reference::root(model));
        }
        // The same content yields the same trie, regardless of its history.
        // Deleting all keys yields the empty trie.
        let again: Batch = model.iter().map(|(k, v)| (k.clone(), Some(v.clone()))).collect();
        prop_assert_eq!(Trie::default().apply(changes(&again)).root(), trie.root());
        let removals: Batch = model.into_keys().map(|k| (k, None)).collect();
        let empty = trie.apply(changes(&removals));
        prop_assert_eq!(empty.root(), EMPTY_ROOT);
        prop_assert!(empty.is_empty());
    }

    #[test]
    fn many_tries_at_once_equal_single_tries(first in vec(batches(), 1..6)) {
        let started: Vec<Trie<Vec<u8>>> =
            first.iter().map(|batches| Trie::default().apply(changes(&batches[0]))).collect();
        let second: Vec<_> = first.iter().map(|batches| changes(batches.last().unwrap())).collect();
        let work = started.iter().cloned().zip(second.iter().cloned()).collect();
        let together = Trie::apply_all(work);
        for ((trie, changes), other) in started.iter().zip(second).zip(together) {
            let alone = trie.apply(changes);
            prop_assert_eq!(alone.root(), other.root());
            prop_assert_eq!(alone.len(), other.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Uses batches on both sides of the size from which work is forked.
    /// Few keys exist, so that many are deleted.
    #[test]
    fn hashed_keys_against_alloy(
        batches in vec(vec((0u64..1500, option::weighted(0.6, value())), 0..800), 1..5),
    ) {
        let mut model = BTreeMap::new();
        let mut trie = Trie::default();
        let mut generations = Vec::new();
        for batch in batches {
            let batch: Vec<_> = batch.into_iter().map(|(k, v)| (keccak256(k.to_be_bytes()), v)).collect();
            for (key, value) in &batch {
                match value {
                    Some(value) => model.insert(*key, value.clone()),
                    None => model.remove(key),
                };
            }
            trie = trie.apply(batch.into_iter().map(|(key, value)| (key.into(), value)).collect());
            prop_assert_eq!(trie.root(), crate::alloy::root(&model));
            prop_assert_eq!(trie.len(), Some(model.len()));
            generations.push((trie.clone(), model.clone()));
        }
        for (trie, model) in generations {
            let model_pairs: Vec<_> = model.iter().map(|(k, v)| (k.to_vec(), v.clone())).collect();
            prop_assert_eq!(pairs(&trie), model_pairs);
            prop_assert_eq!(trie.root(), crate::alloy::root(&model));
        }
    }
}

/// Enough changes to be sorted in parallel, each key twice: the later change counts.
#[test]
fn a_large_unsorted_batch_has_the_right_root() {
    let value = |seed: u64| seed.to_be_bytes().to_vec();
    let keys: Vec<B256> = (0..4_000u64).map(|seed| keccak256(seed.to_be_bytes())).collect();
    let first = keys.iter().map(|key| ((*key).into(), Some(vec![1; 40])));
    let second = keys
        .iter()
        .zip(0..)
        .map(|(key, seed)| ((*key).into(), (!u64::is_multiple_of(seed, 5)).then(|| value(seed))));
    let trie = Trie::default().apply(first.chain(second).collect());
    let remaining = keys.iter().zip(0..).filter(|(_, seed)| !u64::is_multiple_of(*seed, 5));
    let model: BTreeMap<B256, Vec<u8>> = remaining.map(|(key, seed)| (*key, value(seed))).collect();
    assert_eq!(trie.root(), crate::alloy::root(&model));
    assert_eq!(trie.len(), Some(model.len()));
}

#[test]
fn an_empty_trie_has_the_empty_root() {
    let trie = Trie::<Bytes>::default();
    assert_eq!(trie.root(), alloy_trie::EMPTY_ROOT_HASH);
    assert_eq!(trie.apply(vec![(key(b"absent"), None)]).root(), EMPTY_ROOT);
    assert_eq!(trie.get(b"absent").value(), None);
}

#[test]
fn the_last_change_of_a_key_wins() {
    let values = [Some(vec![1]), None, Some(vec![2])];
    let trie = Trie::default().apply(values.into_iter().map(|value| (key(b"k"), value)).collect());
    assert_eq!(trie.get(b"k").value(), Some(&vec![2]));
    assert_eq!(trie.len(), Some(1));
}

#[test]
fn key_length_is_limited() {
    assert!(Key::new(&[7; MAX_KEY_BYTES]).is_ok());
    let error = Key::new(&[7; MAX_KEY_BYTES + 1]).unwrap_err();
    assert_eq!(error.length, MAX_KEY_BYTES + 1);
}

/// The deepest possible trie: every key is a prefix of the next.
#[test]
fn the_deepest_trie_has_the_right_root() {
    let deep: Model = (0..=MAX_KEY_BYTES).map(|length| (vec![0xab; length], vec![1, 2])).collect();
    let batch: Batch = deep.iter().map(|(k, v)| (k.clone(), Some(v.clone()))).collect();
    let trie = Trie::default().apply(changes(&batch));
    assert_eq!(trie.root(), crate::reference::root(&deep));
    assert_holds(&trie, &deep);
    let emptied = trie.apply(batch.into_iter().map(|(k, _)| (key(&k), None)).collect());
    assert_eq!(emptied.root(), EMPTY_ROOT);
}

/// A value type other than bytes: the trie encodes values only to hash them.
#[test]
fn typed_values_are_decoded() {
    #[derive(Clone)]
    struct Number(u64);
    impl Value for Number {
        fn encode(&self, out: &mut Vec<u8>) {
            alloy_rlp::Encodable::encode(&self.0, out);
        }
        fn decode(mut bytes: &[u8]) -> Option<Self> {
            alloy_rlp::Decodable::decode(&mut bytes).ok().map(Self)
        }
    }
    let trie = Trie::default().apply(vec![(keccak256("a").into(), Some(Number(7)))]);
    assert_eq!(trie.get(keccak256("a").as_slice()).value().map(|number| number.0), Some(7));
    assert_eq!(trie.root(), crate::alloy::root(&BTreeMap::from([(keccak256("a"), vec![7])])));
}
