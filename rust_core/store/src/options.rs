//! How a store is opened.

use alloy_primitives::B256;

/// Settings of a store, and the chain that it must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub chain_id: u64,
    /// Hash of block 0.
    pub genesis: B256,
    /// Greatest size in bytes. Address space, not disk: the file grows with what is written.
    pub map_size: usize,
    /// For how many of the newest blocks proofs can be made.
    pub proof_window: u64,
    /// For how many of the newest blocks a step is found by its hash.
    pub step_window: u64,
    /// Reads at the same time, of all processes together.
    pub max_readers: u32,
    /// Open for reading: nothing but the file of locks is written.
    pub read_only: bool,
    /// Seconds since 1970: what a store that is made or upgraded notes of when that was.
    pub at: u64,
}

impl Options {
    /// 1 TiB.
    pub const MAP_SIZE: usize = 1 << 40;
    /// Blocks.
    pub const WINDOW: u64 = 1_024;
    /// Readers.
    pub const MAX_READERS: u32 = 1_024;

    /// The default settings for a chain.
    pub fn new(chain_id: u64, genesis: B256) -> Self {
        Self {
            chain_id,
            genesis,
            map_size: Self::MAP_SIZE,
            proof_window: Self::WINDOW,
            step_window: Self::WINDOW,
            max_readers: Self::MAX_READERS,
            read_only: false,
            at: 0,
        }
    }

    /// Whether they ask for the same, whenever that is.
    pub(crate) fn ask_the_same(&self, other: &Self) -> bool {
        Self { at: other.at, ..*self } == *other
    }
}
