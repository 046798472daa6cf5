//! The result of a lookup in a trie.

/// The result for a key without loading anything.
pub enum Lookup<'t, V> {
    /// The key has this value.
    Value(&'t V),
    /// The key has no value.
    Absent,
    /// The path to the key continues below a node that is not in memory.
    Stub,
}

impl<'t, V> Lookup<'t, V> {
    /// Returns the value, or `None` if the key has none. For tries that are entirely in memory.
    ///
    /// # Panics
    /// Panics if the lookup met a stub: [`Trie::load`](crate::Trie::load) the key first.
    pub fn value(self) -> Option<&'t V> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent => None,
            Self::Stub => unreachable!("{}", crate::node::MUST_BE_LOADED),
        }
    }
}

// Implemented manually: the derived impls would require `V: Clone` and `V: Copy`.
impl<V> Clone for Lookup<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Lookup<'_, V> {}
