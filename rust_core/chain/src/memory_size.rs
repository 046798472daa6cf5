//! Sizes of blocks in memory. Bounds count them, because a block may hold a million logs.

use foreseal_primitives::{Block, Flashblock, StateDiff};

use crate::executed_block::Step;

/// Approximate size in bytes of a block without its transactions and steps.
const BLOCK_SIZE: usize = 8 << 10;
/// Approximate size in bytes of the trie nodes that are copied for a changed account or slot.
const CHANGED_KEY_SIZE: usize = 1_536;

/// Returns the approximate size of a block that has no steps, in bytes.
pub fn block_size(block: &Block) -> usize {
    BLOCK_SIZE + contents_size(block, 0)
}

/// Returns the size of the transactions from index `first` on and of their receipts, in bytes.
pub(crate) fn contents_size(block: &Block, first: usize) -> usize {
    let transactions = block.transactions.iter().skip(first).map(|transaction| transaction.memory_size());
    let receipts = block.receipts.iter().skip(first).map(|receipt| receipt.memory_size());
    transactions.sum::<usize>() + receipts.sum::<usize>()
}

/// Returns the approximate size of state changes and of the trie nodes that they copy, in bytes.
pub fn changes_size(diff: &StateDiff) -> usize {
    diff.memory_size() + CHANGED_KEY_SIZE * diff.changed_keys()
}

/// Returns the approximate size of a step with its transactions and changes, in bytes.
pub fn flashblock_size(step: &Flashblock) -> usize {
    let transactions = step.transactions.iter().map(|transaction| transaction.memory_size());
    let receipts = step.receipts.iter().map(|receipt| receipt.memory_size());
    step_size() + transactions.sum::<usize>() + receipts.sum::<usize>() + changes_size(&step.diff)
}

/// Returns the approximate size of a step without its transactions and changes, in bytes.
pub(crate) const fn step_size() -> usize {
    2 * size_of::<Step>()
}
