//! What a lookup in a trie comes to.

/// What a trie knows about a key without loading anything.
pub enum Lookup<'t, V> {
    /// The key has this value.
    Value(&'t V),
    /// The key has no value.
    Absent,
    /// The way to the key leads below a node that is not in memory.
    Stub,
}

impl<'t, V> Lookup<'t, V> {
    /// The value, `None` if there is none, where nothing is left in a source.
    ///
    /// # Panics
    /// When the lookup met a stub: [`Trie::load`](crate::Trie::load) the key before.
    pub fn value(self) -> Option<&'t V> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent => None,
            Self::Stub => unreachable!("{}", crate::build::LOADED),
        }
    }
}

// By hand: the derived ones would ask the same of V.
impl<V> Clone for Lookup<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Lookup<'_, V> {}
