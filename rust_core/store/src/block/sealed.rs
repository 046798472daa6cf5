//! The unit of a write: a sealed block and its data.

use std::sync::Arc;

use alloy_primitives::Bytes;
use foreseal_primitives::{Block, StateDiff};
use foreseal_state::StateChanges;

use super::step::StoredStep;
use crate::{error::StoreError, meta::Progress, options::StoreOptions};

/// A sealed block with its steps and state changes. Genesis is block 0, with its allocation as the diff.
#[derive(Clone, Debug)]
pub struct SealedBlock {
    pub block: Block,
    /// Steps by index. Empty for genesis and for an imported block.
    pub steps: Vec<StoredStep>,
    /// State changes of the whole block, including end-of-block processing.
    pub diff: Arc<StateDiff>,
    /// Trie nodes that differ from the parent's state:
    /// `State::changes_since`. For genesis, from an empty state.
    pub nodes: StateChanges,
    /// Sequence number of the journal append that seals the block.
    pub journal_sequence: u64,
    /// Metadata of the writer, stored with the head: [`crate::Store::writer_metadata`].
    pub writer_metadata: Bytes,
}

impl SealedBlock {
    /// Rejects a block that does not follow the newest one.
    pub(crate) fn check(&self, progress: &Progress, options: &StoreOptions) -> Result<(), StoreError> {
        let number = self.block.header.number;
        let refused = |why| Err(StoreError::OutOfOrder { number, why });
        match progress.head {
            None if number != 0 => refused("the store is empty: genesis comes first"),
            None if self.block.hash != options.genesis => {
                Err(StoreError::OtherGenesis { genesis: self.block.hash, expected: options.genesis })
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
