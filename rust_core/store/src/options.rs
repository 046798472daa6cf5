//! Options for opening a store.

use alloy_primitives::B256;

use crate::cache_sizes::StateCacheSizes;

/// Settings of a store, and the chain that it must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    pub chain_id: u64,
    /// Hash of block 0.
    pub genesis: B256,
    /// Maximum size in bytes. It reserves address space, not disk: the file grows as data is written.
    pub map_size: usize,
    /// Number of newest blocks for which proofs are available.
    pub proof_window: u64,
    /// Number of newest blocks whose steps are indexed by hash.
    pub step_window: u64,
    /// Maximum number of concurrent reads, of all processes together.
    pub max_readers: u32,
    /// `true` for an OP chain, where the withdrawals root of a block is part of its state (Isthmus).
    pub withdrawals_in_state: bool,
    /// `true` to open for reading only: nothing but the lock file is written.
    pub read_only: bool,
    /// Current Unix time in seconds, recorded in a store that is created.
    pub at: u64,
    /// Capacities of the caches of read state.
    pub caches: StateCacheSizes,
}

impl StoreOptions {
    /// Default map size: 1 TiB.
    pub const MAP_SIZE: usize = 1 << 40;
    /// Default proof window and step window, in blocks.
    pub const WINDOW: u64 = 1_024;
    /// Default number of readers.
    pub const MAX_READERS: u32 = 1_024;

    /// Returns the default settings for a chain.
    pub fn new(chain_id: u64, genesis: B256) -> Self {
        Self {
            chain_id,
            genesis,
            map_size: Self::MAP_SIZE,
            proof_window: Self::WINDOW,
            step_window: Self::WINDOW,
            max_readers: Self::MAX_READERS,
            withdrawals_in_state: false,
            read_only: false,
            at: 0,
            caches: StateCacheSizes::default(),
        }
    }

    /// Returns `true` if both request the same, regardless of their times and of the caches' capacities.
    pub(crate) fn has_same_layout(&self, other: &Self) -> bool {
        Self { at: other.at, caches: other.caches, ..*self } == *other
    }
}
