//! Capacities of the caches of read state.

/// Capacities of the caches of read state, in bytes; 0 disables a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateCacheSizes {
    /// Accounts as of a block.
    pub accounts: u64,
    /// Values of storage slots as of a block.
    pub slots: u64,
    /// Analysed codes.
    pub code: u64,
}

impl Default for StateCacheSizes {
    fn default() -> Self {
        Self { accounts: 4 << 20, slots: 8 << 20, code: 64 << 20 }
    }
}
