//! A transaction that was executed outside of the steps of its block.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_evm::{ExecutionError, Executor, PreparedTransaction};
use foreseal_primitives::Transaction;
use foreseal_state::BlockHashes;

use crate::pending_block::PendingBlock;

/// An executed transaction, and the block whose steps may contain the result.
#[derive(Debug)]
pub struct PreparedForBlock {
    /// Hash of what the block's steps do not change. The execution depends on it.
    template_hash: B256,
    transaction: PreparedTransaction,
}

impl PreparedForBlock {
    /// Returns the transaction.
    pub fn transaction(&self) -> &Arc<Transaction> {
        self.transaction.transaction()
    }

    /// Returns the execution if `block` is the block that it belongs to.
    pub(crate) fn for_block(&self, block: &PendingBlock) -> Option<&PreparedTransaction> {
        (self.template_hash == block.template_hash()).then_some(&self.transaction)
    }
}

impl PendingBlock {
    /// Executes a transaction on the newest step without a time limit, for a later step of this block.
    ///
    /// # Errors
    /// Returns the errors of [`Executor::transact`].
    pub fn prepare(
        &self,
        transaction: Arc<Transaction>,
        hashes: &dyn BlockHashes,
    ) -> Result<PreparedForBlock, ExecutionError> {
        let executor = Executor::new(&self.spec, &self.base, hashes, self.header());
        let transaction = executor.prepare(transaction, self.totals())?;
        Ok(PreparedForBlock { template_hash: self.template_hash(), transaction })
    }
}
