//! A block and the state after it.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_primitives::{Block, StateDiff, StepSignature};
use foreseal_state::State;
use imbl::Vector;

/// A block at one of its steps, with all that is needed to serve it again.
#[derive(Clone, Debug)]
pub struct Step {
    pub header: Header,
    /// Hash of `header`.
    pub hash: B256,
    /// Number of the block's transactions up to and including this step.
    pub transactions: usize,
    /// Time of creation: see [`Flashblock::time`](foreseal_primitives::Flashblock::time).
    pub time: u64,
    /// Signature of the sequencer; `None` if the step is unsigned.
    pub signature: Option<StepSignature>,
    /// [`Block::transactions_length`] at this step.
    pub transactions_length: usize,
    /// State after this step, including end-of-block processing. `None` if the block comes from the history;
    /// the state is then computed on demand by re-execution.
    pub state: Option<State>,
}

/// State changes that a development method wrote between the transactions of a block. Re-execution of the
/// block must apply them at the same position.
#[derive(Clone, Debug)]
pub struct Written {
    /// Index of the step that holds them.
    pub step: usize,
    /// Number of the block's transactions that precede them.
    pub transactions: usize,
    pub diff: Arc<StateDiff>,
}

/// A block, sealed or being built, with the state after it and its steps.
#[derive(Clone, Debug)]
pub struct ExecutedBlock {
    pub block: Block,
    /// State after the block. For a block being built, the state if it were sealed now.
    pub state: State,
    /// Steps by index. Empty for genesis, for an imported block, and once the block is out of the window.
    pub steps: Vector<Arc<Step>>,
    /// Overrides in order; only development chains have any. Retained when the steps are dropped.
    pub written: Vector<Written>,
    /// Approximate size in memory, in bytes; counted once, when the block or its step is made.
    pub memory_size: usize,
}

impl Step {
    /// Returns `block`, to which this step belongs, at this step.
    pub(crate) fn block(&self, block: &Block) -> Block {
        Block {
            header: self.header.clone(),
            hash: self.hash,
            transactions: block.transactions.take(self.transactions),
            receipts: block.receipts.take(self.transactions),
            uncles: block.uncles.clone(),
            withdrawals: block.withdrawals.clone(),
            transactions_length: self.transactions_length,
        }
    }
}

impl ExecutedBlock {
    /// Returns the block at its step `index`, with `state` as the state after that step.
    pub(crate) fn at_step(&self, step: &Step, index: usize, state: State) -> Self {
        let block = step.block(&self.block);
        let written = self.written.iter().filter(|written| written.step <= index).cloned().collect();
        let steps = self.steps.take(index + 1);
        Self { block, state, steps, written, memory_size: self.memory_size }
    }

    /// Returns the number of the block.
    pub fn number(&self) -> u64 {
        self.block.header.number
    }
}
