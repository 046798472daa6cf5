//! One change of a trie.

use crate::key::Key;

/// A key and its new value; `None` deletes it.
pub type Change<V> = (Key, Option<V>);
