//! Root of a trie of hashed keys, computed by alloy-trie.

use std::collections::BTreeMap;

use alloy_primitives::B256;
use alloy_trie::{HashBuilder, Nibbles};

pub fn root(model: &BTreeMap<B256, Vec<u8>>) -> B256 {
    let mut builder = HashBuilder::default();
    for (key, value) in model {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    builder.root()
}
