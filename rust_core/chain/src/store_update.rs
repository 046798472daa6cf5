//! Updates that the chain emits for the store.

use std::sync::Arc;

use foreseal_primitives::StateDiff;
use foreseal_state::State;

use crate::{executed_block::ExecutedBlock, finality::Finality};

/// A change of the sealed chain for the store to apply.
#[derive(Clone, Debug)]
pub enum StoreUpdate {
    /// A block was sealed.
    Sealed { block: Arc<ExecutedBlock>, changed: BlockChanges, meta: ChainMeta },
    /// The chain was unwound to this block.
    Unwound { to: u64, meta: ChainMeta },
}

/// State changes of a sealed block.
#[derive(Clone, Debug)]
pub struct BlockChanges {
    /// State that the block was built on.
    pub before: State,
    /// Diffs in the order in which they apply.
    pub diffs: Vec<Arc<StateDiff>>,
}

/// Attributes of the chain that are not part of its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainMeta {
    pub finality: Finality,
    /// [`Chain::clock_offset`](crate::Chain::clock_offset).
    pub clock_offset: i64,
}
