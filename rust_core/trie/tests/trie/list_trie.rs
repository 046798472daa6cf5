//! Compares list tries with alloy's ordered root.

use alloy_primitives::Bytes;
use alloy_trie::root::ordered_trie_root_encoded;
use foreseal_trie::{EMPTY_ROOT, ListTrie, ordered_trie_root};
use proptest::{collection::vec, prelude::*};

fn items(count: usize) -> Vec<Bytes> {
    (0..count).map(|at| vec![0x7f; at % 90 + 1].into()).collect()
}

#[test]
fn roots_match_where_the_key_length_changes() {
    for count in [0, 1, 2, 16, 17, 127, 128, 129, 255, 256, 257, 1000] {
        let items = items(count);
        let mut list = ListTrie::default();
        for item in &items {
            list.push(item.clone());
        }
        let expected = ordered_trie_root_encoded(&items);
        assert_eq!(list.root(), expected, "{count} items one by one");
        assert_eq!(ordered_trie_root(items), expected, "{count} items at once");
    }
}

#[test]
fn an_empty_list_has_the_empty_root() {
    let list = ListTrie::default();
    assert!(list.is_empty());
    assert_eq!(list.root(), EMPTY_ROOT);
    assert_eq!(list.get(0), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_list_appended_in_portions_has_the_same_root(chunks in vec(vec(vec(any::<u8>(), 1..200), 0..90), 0..9)) {
        let mut list = ListTrie::default();
        let mut all: Vec<Bytes> = Vec::new();
        let mut older = Vec::new();
        for chunk in chunks {
            let chunk: Vec<Bytes> = chunk.into_iter().map(Bytes::from).collect();
            all.extend(chunk.clone());
            list.extend(chunk);
            older.push((list.clone(), all.len()));
        }
        for (list, length) in older {
            prop_assert_eq!(list.root(), ordered_trie_root_encoded(&all[..length]));
            prop_assert_eq!(list.len(), length);
            prop_assert!((0..length).all(|at| list.get(at) == Some(&all[at])));
            prop_assert_eq!(list.get(length), None);
        }
    }
}
