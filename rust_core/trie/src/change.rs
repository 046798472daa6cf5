//! One change of a trie.

use crate::Key;

/// A key and its new value; `None` deletes it.
pub type Change<V> = (Key, Option<V>);
