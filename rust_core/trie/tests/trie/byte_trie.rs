//! The byte trie that changes in place.

use crate::reference::Model;
use alloy_primitives::{B256, Bytes};
use foreseal_trie::{ByteTrie, EMPTY_ROOT, MAX_KEY_BYTES, trie_root};
use proptest::{collection::vec, prelude::*};

#[derive(Clone, Debug)]
enum Action {
    Set(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Root,
}

fn action() -> impl Strategy<Value = Action> {
    let key = || vec(0u8..4, 0..4);
    prop_oneof![
        6 => (key(), vec(any::<u8>(), 0..40)).prop_map(|(key, value)| Action::Set(key, value)),
        2 => key().prop_map(Action::Remove),
        1 => Just(Action::Root),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_byte_trie_behaves_like_a_map(actions in vec(action(), 0..60)) {
        let mut model = Model::new();
        let mut trie = ByteTrie::default();
        for action in actions {
            match action {
                Action::Set(key, value) => {
                    trie.set(&key, value.clone()).unwrap();
                    model.insert(key, value);
                }
                Action::Remove(key) => {
                    trie.remove(&key);
                    model.remove(&key);
                }
                Action::Root => {
                    model.retain(|_, value| !value.is_empty());
                    prop_assert_eq!(trie.root(), crate::reference::root(&model));
                }
            }
            // An empty value means absence, hashed or not.
            model.retain(|_, value| !value.is_empty());
            for key in model.keys() {
                prop_assert_eq!(trie.get(key).map(|value| value.to_vec()), model.get(key).cloned());
            }
        }
        prop_assert_eq!(trie.root(), crate::reference::root(&model));
        prop_assert_eq!(trie.len(), model.len());
        prop_assert_eq!(trie.is_empty(), model.is_empty());
        let pairs = model.into_iter().rev().map(|(key, value)| (key, Bytes::from(value)));
        prop_assert_eq!(trie_root(pairs).unwrap(), trie.root());
    }
}

#[test]
fn the_last_value_of_equal_keys_wins() {
    let pairs = [("k", "first"), ("other", "gone"), ("k", "last"), ("other", "")];
    let root = trie_root(pairs.map(|(key, value)| (key, Bytes::from(value)))).unwrap();
    assert_eq!(root, crate::reference::root(&Model::from([(b"k".to_vec(), b"last".to_vec())])));
}

#[test]
fn keys_that_are_too_long_are_rejected() {
    let long = [1; MAX_KEY_BYTES + 1];
    let mut trie = ByteTrie::default();
    assert_eq!(trie.set(&long, vec![1]).unwrap_err().length, long.len());
    trie.remove(&long);
    assert_eq!(trie.get(&long), None);
    assert_eq!(trie.prove(&long), Vec::<Bytes>::new());
    assert_eq!(trie.root(), EMPTY_ROOT);
    assert!(trie_root([(&long, Bytes::from(vec![1]))]).is_err());
}

/// The case "any order" of the TrieTests in ethereum/tests, and the values of its branching test.
#[test]
fn published_roots_are_reproduced() {
    let root = |pairs: &[(&str, &str)]| -> B256 {
        trie_root(pairs.iter().map(|(key, value)| (*key, Bytes::copy_from_slice(value.as_bytes())))).unwrap()
    };
    let puppy = [("do", "verb"), ("horse", "stallion"), ("doge", "coin"), ("dog", "puppy")];
    let expected =
        alloy_primitives::b256!("5991bb8c6514148a29db676a14ac506cd2cd5775ace63c30a4fe457715e9ac84");
    assert_eq!(root(&puppy), expected);
    let mut turned = puppy;
    turned.reverse();
    assert_eq!(root(&turned), expected);
}
