//! The changes that the feed emits.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_primitives::{Block, StepSignature};
use imbl::Vector;

use crate::{
    executed_block::{ExecutedBlock, Step},
    step_cursor::StepCursor,
};

/// A block after one of its steps, with the metadata of that step.
#[derive(Clone, Debug)]
pub struct BlockAtStep {
    /// The block after this step: its header and hash, and the transactions and receipts so far.
    pub block: Block,
    pub index: u64,
    /// Index of the first transaction that this step added.
    pub first: usize,
    /// Hash of the previous step; at index 0, hash of the parent block.
    pub previous: B256,
    /// Time at which the step was made; see [`Flashblock::time`](foreseal_primitives::Flashblock::time).
    pub time: u64,
    /// The sequencer's signature; `None` if the step is unsigned.
    pub signature: Option<StepSignature>,
}

/// One change of the feed: the steps of all blocks in order. After the last step of a block that has a
/// successor, the feed emits that the block is sealed.
#[derive(Clone, Debug)]
pub enum Change {
    /// The next step. Genesis and imported blocks are one step with index 0.
    Step(BlockAtStep),
    /// The block of the preceding step is sealed. The first step of the next block follows.
    Sealed(Block),
    /// The newest step is no longer on the chain.
    Removed(BlockAtStep),
    /// The block before the one whose first step was just removed is no longer sealed.
    Unsealed(Block),
}

/// The steps of a block that is sealed, being built or reorged. A block without a table of steps is one step.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'b> {
    block: &'b Block,
    table: &'b Vector<Arc<Step>>,
}

impl<'b> Steps<'b> {
    pub fn new(block: &'b Block, table: &'b Vector<Arc<Step>>) -> Self {
        Self { block, table }
    }

    pub fn from_block(executed: &'b ExecutedBlock) -> Self {
        Self::new(&executed.block, &executed.steps)
    }

    /// Returns the number of steps; at least one.
    pub fn count(self) -> usize {
        self.table.len().max(1)
    }

    /// Returns the hash of the block after step `index`.
    pub fn hash(self, index: usize) -> Option<B256> {
        match self.table.get(index) {
            Some(step) => Some(step.hash),
            None => (index == 0).then_some(self.block.hash),
        }
    }

    /// Returns the cursor of step `index`, which must exist.
    pub fn cursor(self, index: usize) -> StepCursor {
        let hash = self.hash(index).unwrap_or(self.block.hash);
        StepCursor { number: self.block.header.number, index: index as u64, hash }
    }

    /// Returns the cursor of the last step.
    pub fn last(self) -> StepCursor {
        self.cursor(self.count() - 1)
    }

    /// Returns `true` if `cursor` is a step of this block.
    pub fn holds(self, cursor: StepCursor) -> bool {
        let index = usize::try_from(cursor.index).ok();
        cursor.number == self.block.header.number && index.and_then(|at| self.hash(at)) == Some(cursor.hash)
    }

    /// Returns the number of leading steps that both blocks share.
    pub fn common(self, other: Self) -> usize {
        let count = self.count().min(other.count());
        (0..count).take_while(|index| self.hash(*index) == other.hash(*index)).count()
    }

    /// Returns step `index`, which must exist.
    pub fn at(self, index: usize) -> BlockAtStep {
        let before = index.checked_sub(1).and_then(|before| self.table.get(before));
        let step = self.table.get(index);
        BlockAtStep {
            block: step.map_or_else(|| self.block.clone(), |step| step.block(self.block)),
            index: index as u64,
            first: before.map_or(0, |before| before.transactions),
            previous: before.map_or(self.block.header.parent_hash, |before| before.hash),
            time: step.map_or(0, |step| step.time),
            signature: step.and_then(|step| step.signature),
        }
    }
}
