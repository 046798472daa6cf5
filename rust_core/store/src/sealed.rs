//! What is written at once: a sealed block and all that belongs to it.

use std::sync::Arc;

use alloy_primitives::Bytes;
use foreseal_state::StateChanges;
use foreseal_types::{Block, StateDiff};

use crate::{Options, Progress, StoreError, StoredStep};

/// A sealed block with its steps and what it changed. Genesis is block 0, with its allocation as the diff.
#[derive(Clone, Debug)]
pub struct SealedBlock {
    pub block: Block,
    /// By index. Empty for genesis and for an imported block.
    pub steps: Vec<StoredStep>,
    /// What the whole block changed, end-of-block processing included.
    pub diff: Arc<StateDiff>,
    /// The trie nodes that differ from the parent's state: `State::changes_since`. From an empty state for genesis.
    pub nodes: StateChanges,
    /// Sequence number of the journal's append that seals the block.
    pub journal_sequence: u64,
    /// What the writer wants to find again beside the head: [`crate::Store::note`].
    pub note: Bytes,
}

impl SealedBlock {
    /// Refuses a block that does not follow the newest one.
    pub(crate) fn check(&self, progress: &Progress, options: &Options) -> Result<(), StoreError> {
        let number = self.block.header.number;
        let refused = |why| Err(StoreError::OutOfOrder { number, why });
        match progress.head {
            None if number != 0 => refused("the store is empty: genesis comes first"),
            None if self.block.hash != options.genesis => {
                Err(StoreError::OtherGenesis { found: self.block.hash, expected: options.genesis })
            }
            Some(head) if head.number.checked_add(1) != Some(number) => {
                refused("its number does not follow the newest one")
            }
            Some(head) if self.block.header.parent_hash != head.hash => {
                refused("the newest block is not its parent")
            }
            None | Some(_) => Ok(()),
        }
    }
}
