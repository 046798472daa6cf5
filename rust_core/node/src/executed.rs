//! A block and the state after it.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_state::State;
use foreseal_types::{Block, StateDiff, StepSignature};
use imbl::Vector;

/// A block as it stood at one of its steps: enough to answer everything about it again.
#[derive(Clone, Debug)]
pub struct Step {
    pub header: Header,
    /// Hash of `header`.
    pub hash: B256,
    /// Number of the block's transactions that this step and those before it hold.
    pub transactions: usize,
    /// When it was made: see [`Flashblock::time`](foreseal_types::Flashblock::time).
    pub time: u64,
    /// The sequencer's word for it; `None` if nobody signed it.
    pub signature: Option<StepSignature>,
    /// [`Block::transactions_length`] at this step.
    pub transactions_length: usize,
    /// The state after this step, end-of-block processing included. `None` when the block comes from the history: it is
    /// made again when it is asked for.
    pub state: Option<State>,
}

/// What a development helper wrote into the state of a block, between its transactions. Whoever executes the block again
/// must apply it at its place.
#[derive(Clone, Debug)]
pub struct Written {
    /// Index of the step that holds it.
    pub step: usize,
    /// So many of the block's transactions come before it.
    pub transactions: usize,
    pub diff: Arc<StateDiff>,
}

/// A block, sealed or being built, with the state after it and the steps that made it.
#[derive(Clone, Debug)]
pub struct Executed {
    pub block: Block,
    /// The state after the block; for a block being built, as if it were sealed now.
    pub state: State,
    /// The block's steps by index. Empty for genesis, for an imported block, and once out of the window.
    pub steps: Vector<Arc<Step>>,
    /// In order; empty but on development chains. Stays when the steps are forgotten.
    pub written: Vector<Written>,
}

impl Step {
    /// `block`, to which this step belongs, as it stood at the step.
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

impl Executed {
    /// The block as it stood at its step number `index`, after which the state was `state`.
    pub(crate) fn at_step(&self, step: &Step, index: usize, state: State) -> Self {
        let block = step.block(&self.block);
        let written = self.written.iter().filter(|written| written.step <= index).cloned().collect();
        Self { block, state, steps: self.steps.take(index + 1), written }
    }

    /// The block's number.
    pub fn number(&self) -> u64 {
        self.block.header.number
    }
}
