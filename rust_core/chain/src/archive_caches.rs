//! Caches in front of the block history.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_cache::{Cache, CacheMetrics};
use foreseal_state::State;
use foreseal_store::StateCacheSizes;

use crate::executed_block::{ExecutedBlock, Step};

/// Approximate size of a block in bytes, without its transactions.
const BLOCK_SIZE: u64 = 8 << 10;
/// Approximate size in bytes of the trie nodes by which a step changes the state of its parent.
const STATE_SIZE: u64 = 64 << 10;
/// The same for each transaction.
const TRANSACTION_NODES_SIZE: u64 = 8 << 10;

/// Capacities of the caches in front of the store, in bytes; 0 disables a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    pub state: StateCacheSizes,
    /// Sealed blocks that were read from the store.
    pub blocks: u64,
    /// States after steps, computed by re-execution.
    pub step_states: u64,
}

impl Default for CacheSizes {
    fn default() -> Self {
        Self { state: StateCacheSizes::default(), blocks: 32 << 20, step_states: 16 << 20 }
    }
}

/// Caches of blocks and states of one generation of the chain.
#[derive(Debug)]
pub struct ArchiveCaches {
    pub blocks: Cache<u64, Arc<ExecutedBlock>>,
    pub states: Cache<B256, State>,
}

impl ArchiveCaches {
    pub fn new(sizes: &CacheSizes) -> Self {
        Self {
            blocks: Cache::new("blocks", sizes.blocks, 32 * BLOCK_SIZE),
            states: Cache::new("step_states", sizes.step_states, 4 * STATE_SIZE),
        }
    }

    /// Returns empty caches with the same capacities and counters, for another generation.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self { blocks: self.blocks.renewed(), states: self.states.renewed() }
    }

    pub fn metrics(&self) -> [CacheMetrics; 2] {
        [self.blocks.metrics(), self.states.metrics()]
    }

    pub fn insert_block(&self, number: u64, block: &Arc<ExecutedBlock>) {
        self.blocks.insert(number, block.clone(), block.memory_size as u64);
    }

    pub fn insert_state(&self, step: &Step, state: &State) {
        // The estimate is an upper bound: a large step is cached too, so that its block is executed once.
        let size = STATE_SIZE + TRANSACTION_NODES_SIZE * step.transactions as u64;
        self.states.insert(step.hash, state.clone(), size.min(self.states.largest()));
    }
}
