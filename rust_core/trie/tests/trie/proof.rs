//! Compares proofs with alloy's verifier, and for keys that it does
//! not support with the yellow paper's rules.

use alloy_primitives::{Bytes, keccak256};
use alloy_trie::{Nibbles, proof::verify_proof};
use foreseal_trie::{ByteTrie, Key, ListTrie, Trie};
use proptest::{collection::btree_map, collection::vec, prelude::*};

#[test]
fn proofs_show_presence_and_absence_of_hashed_keys() {
    for count in [0u64, 1, 2, 3, 17, 400] {
        let changes =
            (0..count).map(|at| (keccak256(at.to_be_bytes()).into(), Some(vec![0x11; 40]))).collect();
        let trie = Trie::<Vec<u8>>::default().apply(changes);
        for at in 0..count + 50 {
            let key = keccak256(at.to_be_bytes());
            let expected = (at < count).then(|| vec![0x11; 40]);
            let proof = trie.prove(key.as_slice());
            verify_proof(trie.root(), Nibbles::unpack(key), expected, &proof)
                .unwrap_or_else(|error| panic!("{count} keys, key {at}: {error}"));
        }
    }
}

#[test]
fn proofs_show_positions_of_a_list() {
    for (count, length) in [(1, 40), (3, 2), (130, 3), (300, 3), (300, 90)] {
        let items: Vec<Bytes> =
            (0..count).map(|at: usize| vec![at.to_le_bytes()[0] | 1; length].into()).collect();
        let mut list = ListTrie::default();
        list.extend(items.iter().cloned());
        for at in 0..count + 5 {
            let key = Nibbles::unpack(alloy_rlp::encode_fixed_size(&at));
            let expected = items.get(at).map(|item| item.to_vec());
            verify_proof(list.root(), key, expected, &list.prove(at))
                .unwrap_or_else(|error| panic!("{count} items of {length} bytes, item {at}: {error}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn proofs_verify_for_any_keys(
        model in btree_map(vec(prop_oneof![Just(0u8), Just(1), Just(0x10)], 0..5), vec(any::<u8>(), 1..50), 0..40),
        keys in vec(vec(prop_oneof![Just(0u8), Just(1), Just(0x10)], 0..5), 0..20),
    ) {
        let mut trie = ByteTrie::default();
        for (key, value) in &model {
            trie.set(key, value.clone()).unwrap();
        }
        prop_assert_eq!(trie.root(), crate::reference::root(&model));
        for key in model.keys().chain(&keys) {
            let proof = trie.prove(key);
            prop_assert_eq!(&crate::reference::proved(trie.root(), key, &proof), &model.get(key).cloned());
        }
    }
}

#[test]
fn a_root_shorter_than_a_hash_is_proved() {
    let trie = Trie::default().apply(vec![(Key::new(b"k").unwrap(), Some(vec![1]))]);
    let proof = trie.prove(b"k");
    assert_eq!(proof.len(), 1);
    assert!(proof[0].len() < 32);
    assert_eq!(keccak256(&proof[0]), trie.root());
}
