//! Tries over lists: transactions, receipts and withdrawals.

use alloy_primitives::{B256, Bytes};

use crate::{change::Change, key::Key, trie::Trie};

/// A trie whose keys are the RLP of the positions 0, 1, 2 and so on. It grows at its end.
#[derive(Clone, Default)]
pub struct ListTrie {
    trie: Trie<Bytes>,
    length: usize,
}

impl ListTrie {
    /// Appends one item.
    pub fn push(&mut self, item: Bytes) {
        self.extend([item]);
    }

    /// Appends items; the root is computed once.
    pub fn extend(&mut self, items: impl IntoIterator<Item = Bytes>) {
        let start = self.len();
        let change = |(at, item): (usize, Bytes)| (position_key(start + at), Some(item));
        let changes: Vec<Change<Bytes>> = items.into_iter().enumerate().map(change).collect();
        self.length = start + changes.len();
        self.trie = self.trie.apply(changes);
    }

    /// Returns the root hash, which is already computed.
    pub fn root(&self) -> B256 {
        self.trie.root()
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.trie.is_empty()
    }

    /// Returns the item at a position.
    pub fn get(&self, position: usize) -> Option<&Bytes> {
        self.trie.get(position_key(position).as_slice()).value()
    }

    /// Returns a proof of the item at a position, or of its absence. See [`Trie::prove`].
    pub fn prove(&self, position: usize) -> Vec<Bytes> {
        self.trie.prove(position_key(position).as_slice())
    }
}

/// Returns the root of a list of encoded items (transactionsRoot, receiptsRoot, withdrawalsRoot).
pub fn ordered_trie_root(items: impl IntoIterator<Item = Bytes>) -> B256 {
    let mut list = ListTrie::default();
    list.extend(items);
    list.root()
}

fn position_key(position: usize) -> Key {
    Key::new(&alloy_rlp::encode_fixed_size(&position)).expect("the RLP of an integer has at most nine bytes")
}

impl std::fmt::Debug for ListTrie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListTrie")
            .field("len", &self.len())
            .field("root", &self.root())
            .finish_non_exhaustive()
    }
}
