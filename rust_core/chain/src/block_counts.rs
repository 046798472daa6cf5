//! Numbers of a block that bound the size of its results, read without its body.

use alloy_primitives::B256;

use crate::executed_block::ExecutedBlock;

/// Numbers of a block, sealed or being built. For a stored block they cost one lookup: transactions, receipts and logs
/// are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCounts {
    pub number: u64,
    pub hash: B256,
    pub transactions: usize,
    /// [`foreseal_primitives::Block::transactions_length`].
    pub transactions_length: usize,
    pub logs: u64,
}

impl BlockCounts {
    /// Returns the counts of a block in memory.
    pub fn new(executed: &ExecutedBlock) -> Self {
        let block = &executed.block;
        Self {
            number: executed.number(),
            hash: block.hash,
            transactions: block.transactions.len(),
            transactions_length: block.transactions_length,
            logs: block.log_count(block.receipts.len()),
        }
    }
}
