//! Transactions that wait although a step has executed them: their results are too large, or they take too long.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::{
    Address, B256,
    map::{AddressMap, B256Map},
};
use foreseal_primitives::Transaction;

use crate::prepared_for_block::PreparedForBlock;

/// Maximum number of remembered sizes. They are hints: without one, a transaction is executed once more.
const MAX_SIZES: usize = 4096;
/// Maximum number of remembered senders who may submit short transactions only.
const MAX_RESTRICTED: usize = 4096;

/// Transactions that earlier steps have executed and not included, carried from step to step.
///
/// ```text
///   result larger than the rest of the step  ->  waits for a step with room; its size is remembered
///   result larger than any step              ->  alone in the next step, but not twice in a row while others wait
///   slower than the limit                    ->  executed elsewhere, then added as a prepared transaction
///   prepared, but what it read has changed   ->  returned to the caller, who executes it again or drops it
/// ```
#[derive(Debug, Default)]
pub struct DeferredTransactions {
    sizes: B256Map<usize>,
    /// Transaction that is to be alone in the next step.
    oversized: Option<Arc<Transaction>>,
    /// `true` if the last step consists of a transaction that is larger than a step.
    is_after_oversized: bool,
    /// Transactions that no step executes now, by sender: hash and nonce. Another transaction of the sender with this
    /// nonce would make the slow one free.
    slow: AddressMap<(B256, u64)>,
    /// Transactions that the last step has stopped.
    interrupted: Vec<Arc<Transaction>>,
    prepared: Option<PreparedForBlock>,
    /// Prepared transaction that the last step could not add.
    outdated: Option<Arc<Transaction>>,
    /// Senders whose slow executions were for nothing, and the last block in which they may have short transactions
    /// only.
    restricted: AddressMap<u64>,
}

impl DeferredTransactions {
    /// Lets steps execute a transaction again that took too long.
    pub fn release(&mut self, hash: &B256) {
        self.slow.retain(|_, (slow, _)| slow != hash);
    }

    /// Returns `true` for a transaction that took too long in a step and is executed elsewhere.
    pub fn is_slow(&self, hash: &B256) -> bool {
        self.slow.values().any(|(slow, _)| slow == hash)
    }

    /// Removes and returns the transactions that took too long in the last step.
    pub fn drain_interrupted(&mut self) -> Vec<Arc<Transaction>> {
        std::mem::take(&mut self.interrupted)
    }

    /// Removes and returns the prepared transaction that the last step could not add: it has no room in this block, or
    /// its block or the state that it has read is another one now.
    pub fn take_outdated(&mut self) -> Option<Arc<Transaction>> {
        self.outdated.take()
    }

    /// Lets steps reject all but the short transactions of a sender, up to this block.
    pub fn restrict(&mut self, sender: Address, last_block: u64) {
        if self.restricted.len() >= MAX_RESTRICTED {
            self.restricted.clear();
        }
        self.restricted.insert(sender, last_block);
    }

    /// Returns `true` if the next step begins with a prepared transaction.
    pub fn has_prepared(&self) -> bool {
        self.prepared.is_some()
    }

    /// Makes the next step begin with this transaction.
    pub fn add_prepared(&mut self, prepared: PreparedForBlock) {
        self.prepared = Some(prepared);
    }

    /// Removes the transaction that is to be alone in the next step if `is_pooled` rejects it.
    pub fn retain_oversized(&mut self, is_pooled: impl FnOnce(&B256) -> bool) {
        self.oversized.take_if(|transaction| !is_pooled(&transaction.hash()));
    }

    /// Returns the last block in which the sender may have short transactions only, if that is not before `block`.
    pub(crate) fn restricted_until(&self, sender: &Address, block: u64) -> Option<u64> {
        self.restricted.get(sender).copied().filter(|last| block <= *last)
    }

    pub(crate) fn set_outdated(&mut self, transaction: &Arc<Transaction>) {
        self.outdated = Some(transaction.clone());
    }

    pub(crate) fn take_prepared(&mut self) -> Option<PreparedForBlock> {
        self.prepared.take()
    }

    pub(crate) fn is_held(&self, transaction: &Transaction) -> bool {
        let held = self.slow.get(&transaction.sender());
        held.is_some_and(|(hash, nonce)| {
            *hash == transaction.hash() || *nonce == transaction.envelope().nonce()
        })
    }

    pub(crate) fn interrupt(&mut self, transaction: Arc<Transaction>) {
        self.slow.insert(transaction.sender(), (transaction.hash(), transaction.envelope().nonce()));
        self.interrupted.push(transaction);
    }

    pub(crate) fn size(&self, hash: &B256) -> Option<usize> {
        self.sizes.get(hash).copied()
    }

    pub(crate) fn remember_size(&mut self, hash: B256, size: usize) {
        if self.sizes.len() >= MAX_SIZES {
            self.sizes.clear();
        }
        self.sizes.insert(hash, size);
    }

    /// Sets the first transaction that is to be alone in the next step.
    pub(crate) fn set_oversized(&mut self, transaction: &Arc<Transaction>) {
        self.oversized.get_or_insert_with(|| transaction.clone());
    }

    /// Removes and returns the transaction that is to be alone in a step.
    pub(crate) fn take_oversized(&mut self) -> Option<Arc<Transaction>> {
        self.oversized.take()
    }

    pub(crate) fn is_after_oversized(&self) -> bool {
        self.is_after_oversized
    }

    /// Notes the transactions of a step, and if it exceeds the size of a step.
    pub(crate) fn finish_step(&mut self, transactions: &[Arc<Transaction>], is_oversized: bool) {
        self.is_after_oversized = is_oversized;
        for transaction in transactions {
            let hash = transaction.hash();
            self.sizes.remove(&hash);
            self.release(&hash);
            self.oversized.take_if(|waiting| waiting.hash() == hash);
        }
    }
}
