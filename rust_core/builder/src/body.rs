//! Transactions and receipts of a block being built, with incrementally updated tries and bloom filter.

use std::sync::Arc;

use alloy_primitives::{B256, Bloom, Bytes};
use foreseal_primitives::{Receipt, StateDiff, Transaction, length_in_block};
use foreseal_trie::ListTrie;
use imbl::Vector;

/// Number of transactions from which on the tries of a step are computed in parallel. Waking other threads takes
/// longer than the lists of a smaller step.
const PARALLEL_STEP: usize = 256;

/// Transactions and receipts so far. A clone shares its structure; appending costs only the appended items.
#[derive(Clone, Debug, Default)]
pub struct Body {
    pub transactions: Vector<Arc<Transaction>>,
    pub receipts: Vector<Arc<Receipt>>,
    transactions_trie: ListTrie,
    receipts_trie: ListTrie,
    /// Bloom filter of all logs so far.
    pub bloom: Bloom,
    /// Size in bytes of the transactions inside the block's RLP.
    pub transactions_length: usize,
    /// Blob gas of the transactions so far (EIP-4844); on an OP chain the footprint of their data (Jovian).
    pub blob_gas_used: u64,
}

/// Transactions of a step, and their effects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepContents<'a> {
    pub transactions: &'a [Arc<Transaction>],
    pub receipts: &'a [Arc<Receipt>],
    pub diff: &'a StateDiff,
    /// Blob gas of the block up to the step: see [`Body::blob_gas_used`].
    pub blob_gas_used: u64,
}

impl StepContents<'_> {
    /// Returns `true` if other threads should share the work.
    pub fn is_large(&self) -> bool {
        self.transactions.len() >= PARALLEL_STEP
    }
}

/// Runs both functions, in parallel if `parallel` is set.
pub fn join_if<A: Send, B: Send>(
    parallel: bool,
    left: impl FnOnce() -> A + Send,
    right: impl FnOnce() -> B + Send,
) -> (A, B) {
    if parallel { rayon::join(left, right) } else { (left(), right()) }
}

impl Body {
    /// Returns the gas used so far.
    pub fn gas_used(&self) -> u64 {
        self.receipts.last().map_or(0, |receipt| receipt.cumulative_gas_used)
    }

    /// Returns the number of logs so far.
    pub fn log_count(&self) -> u64 {
        self.receipts.last().map_or(0, |r| r.first_log_index + r.logs.len() as u64)
    }

    /// Returns the root of the transactions trie.
    pub fn transactions_root(&self) -> B256 {
        self.transactions_trie.root()
    }

    /// Returns the root of the receipts trie.
    pub fn receipts_root(&self) -> B256 {
        self.receipts_trie.root()
    }

    /// Returns a body with a step's transactions and receipts appended. The two tries are built in parallel.
    #[must_use]
    pub(crate) fn with_step(&self, step: StepContents<'_>) -> Self {
        let StepContents { transactions, receipts, blob_gas_used, .. } = step;
        let mut next = Self { blob_gas_used, ..self.clone() };
        if transactions.is_empty() {
            return next;
        }
        let Self { transactions_trie, receipts_trie, .. } = &mut next;
        let encoded = || transactions_trie.extend(transactions.iter().map(|t| t.encoded().clone()));
        let receipt_list = || {
            receipts_trie.extend(receipts.iter().map(|receipt| {
                let mut bytes = Vec::with_capacity(320 + receipt.logs.len() * 160);
                receipt.encode_2718(&mut bytes);
                Bytes::from(bytes)
            }));
        };
        join_if(step.is_large(), encoded, receipt_list);
        for transaction in transactions {
            next.transactions_length += length_in_block(transaction);
            next.transactions.push_back(transaction.clone());
        }
        for receipt in receipts {
            next.bloom.accrue_bloom(&receipt.bloom);
            next.receipts.push_back(receipt.clone());
        }
        next
    }
}

/// Returns the blob gas that a transaction uses; zero for all but type 3 (EIP-4844).
pub fn blob_gas(transaction: &Transaction) -> u64 {
    use alloy_consensus::Transaction as _;
    transaction.envelope().blob_gas_used().unwrap_or(0)
}
