//! Verification of proofs without a trie.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes};
use foreseal_trie::{ByteTrie, EMPTY_ROOT, ProofError, verify_proof};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn built(content: &Content) -> ByteTrie {
    let mut trie = ByteTrie::default();
    for (key, value) in content {
        trie.set(key, value.clone()).expect("a key short enough");
    }
    trie
}

/// Generates short keys over few byte values, which yield nodes of every kind, including inline ones.
fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(vec![0x00, 0x01, 0x10, 0x11, 0xff]), 0..5)
}

fn content() -> impl Strategy<Value = Content> {
    btree_map(key(), vec(any::<u8>(), 1..40), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_proof_shows_the_content_of_the_trie(content in content(), absent in key()) {
        let mut trie = built(&content);
        for key in content.keys().chain([&absent]) {
            let expected = content.get(key).map(|value| Bytes::copy_from_slice(value));
            prop_assert_eq!(verify_proof(trie.root(), key, &trie.prove(key)), Ok(expected));
        }
    }

    #[test]
    fn a_changed_proof_is_rejected(content in content(), key in key(), at in any::<prop::sample::Index>(), flip in 1..=u8::MAX) {
        let mut trie = built(&content);
        let mut proof: Vec<Vec<u8>> = trie.prove(&key).iter().map(|node| node.to_vec()).collect();
        prop_assume!(!proof.is_empty());
        let node = at.index(proof.len());
        let byte = at.index(proof[node].len());
        proof[node][byte] ^= flip;
        prop_assert_eq!(verify_proof(trie.root(), &key, &proof), Err(ProofError::Hash { index: node }));
    }

    #[test]
    fn any_proof_bytes_never_panic(nodes in vec(vec(any::<u8>(), 0..40), 0..4), key in key()) {
        let root = nodes.first().map_or(B256::ZERO, |node| foreseal_keccak::keccak(node));
        let _ = verify_proof(root, &key, &nodes);
    }
}

#[test]
fn a_proof_has_exactly_the_nodes_on_the_path() {
    let content: Content = (0..200_u8).map(|i| (vec![i, i.wrapping_mul(7)], vec![i; 40])).collect();
    let mut trie = built(&content);
    let (root, key) = (trie.root(), [9, 63]);
    let proof = trie.prove(&key);
    assert!(proof.len() > 1);
    assert_eq!(verify_proof(root, &key, &proof[..1]), Err(ProofError::Short));
    let longer = [&proof[..], &proof[..1]].concat();
    assert_eq!(verify_proof(root, &key, &longer), Err(ProofError::Extra { count: 1 }));
    assert_eq!(verify_proof(B256::ZERO, &key, &proof), Err(ProofError::Hash { index: 0 }));
}

#[test]
fn the_empty_trie_needs_no_node() {
    assert_eq!(verify_proof::<Bytes>(EMPTY_ROOT, b"key", &[]), Ok(None));
    assert_eq!(verify_proof(EMPTY_ROOT, b"key", &[[0x80]]), Ok(None));
    assert_eq!(verify_proof::<Bytes>(B256::ZERO, b"key", &[]), Err(ProofError::Short));
}

#[test]
fn an_invalid_node_is_named() {
    for node in
        [&[0x80][..], &[0xc0], &[0xc1, 0x80], &[0xc2, 0x80, 0x01], &[0xc2, 0x41, 0x01], &[0xc2, 0x00, 0x01]]
    {
        let root = foreseal_keccak::keccak(node);
        if root != EMPTY_ROOT {
            assert_eq!(
                verify_proof(root, &[], &[node]),
                Err(ProofError::Malformed { index: 0 }),
                "{node:x?}"
            );
        }
    }
}
