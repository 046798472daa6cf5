//! Unwinding the chain to an earlier block.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_primitives::Transaction;

use super::{Chain, ChainError};

impl Chain {
    /// Makes sealed block `number` the newest one and drops the block being built. Returns the transactions
    /// that are no longer on the chain, oldest first.
    ///
    /// Older views share their own table of hashes, so they keep returning the same results.
    pub fn unwind(&mut self, number: u64) -> Result<Vec<Arc<Transaction>>, ChainError> {
        let Some(reorged) = self.sealed.truncate(number)? else {
            return Err(ChainError::NotOnChain { number });
        };
        let mut transactions = Vec::new();
        for block in &reorged {
            self.reorged.push(block);
            self.total_difficulty = self.total_difficulty.saturating_sub(block.block.header.difficulty);
            transactions.extend(block.block.transactions.iter().cloned());
        }
        if let Some(open) = self.open.take() {
            self.reorged.push(&open.executed());
            transactions.extend(open.recorded.iter().flat_map(|one| &one.step.transactions).cloned());
        }
        self.lookup = Arc::new(self.lookup.up_to(number));
        self.finality.unwound(number);
        self.forgotten = self.forgotten.min(number + 1);
        if !reorged.is_empty() {
            self.send_unwound(number);
        }
        Ok(transactions)
    }

    /// Applies a recorded unwind.
    pub fn replay_unwind(&mut self, number: u64, hash: B256) -> Result<(), ChainError> {
        self.unwind(number)?;
        let latest = self.latest().block.hash;
        if latest == hash {
            Ok(())
        } else {
            Err(ChainError::SealMismatch { number, recorded: hash, computed: latest })
        }
    }
}
