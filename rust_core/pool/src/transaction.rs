//! Transactions on their way into the pool, and in it.

use std::sync::Arc;

use alloy_consensus::{Signed, Transaction as _};
use alloy_eips::{eip2718::Encodable2718, eip4844::BYTES_PER_BLOB, eip7594::BlobTransactionSidecarVariant};
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::{Envelope, SignedEnvelope, Transaction};

use crate::fees::Fees;

/// Blobs, commitments and proofs (EIP-4844, EIP-7594). Blocks never contain them.
pub type Sidecar = BlobTransactionSidecarVariant;

/// Bytes of a pooled transaction besides itself: its place by hash, in the queue of its sender and in the orders of the
/// pool.
const ENTRY_SIZE: usize = 512;

/// A submission that passed every stateless check: its sender and its authorities are recovered, its sidecar verified.
#[derive(Clone, Debug)]
pub struct CheckedTransaction {
    transaction: Arc<Transaction>,
    sidecar: Option<Arc<Sidecar>>,
    size: usize,
    memory_size: usize,
    // Read from the envelope once, because the order compares them constantly.
    sender: Address,
    nonce: u64,
    fees: Fees,
    cost: U256,
}

impl CheckedTransaction {
    pub(crate) fn new(transaction: Arc<Transaction>, sidecar: Option<Sidecar>, size: usize) -> Self {
        let fees = Fees::from_envelope(transaction.envelope());
        let cost = max_cost(&transaction, &fees);
        let (sender, nonce) = (transaction.sender(), transaction.envelope().nonce());
        let sidecar_size = sidecar.as_ref().map_or(0, sidecar_memory_size);
        let memory_size = ENTRY_SIZE + transaction.memory_size() + sidecar_size;
        Self { transaction, sidecar: sidecar.map(Arc::new), size, memory_size, sender, nonce, fees, cost }
    }

    /// Creates a submission from a transaction that passed every stateless check. A blob transaction then has
    /// no sidecar.
    pub(crate) fn checked(transaction: Arc<Transaction>) -> Self {
        let size = transaction.encoded().len();
        Self::new(transaction, None, size)
    }

    /// Returns the transaction with another sidecar of the same blobs.
    pub(crate) fn with_sidecar(&self, sidecar: Sidecar) -> Self {
        let mut converted = Self::new(self.transaction.clone(), Some(sidecar), 0);
        converted.size = converted.encoded().len();
        converted
    }

    /// Returns the transaction in the form that a block contains.
    pub fn transaction(&self) -> &Arc<Transaction> {
        &self.transaction
    }

    /// Returns the blob sidecar; `None` without blobs, or for a transaction that returned from an unwound
    /// block.
    pub fn sidecar(&self) -> Option<&Arc<Sidecar>> {
        self.sidecar.as_ref()
    }

    /// Returns `true` if the transaction pays for blobs.
    pub fn has_blobs(&self) -> bool {
        self.fees.blob_fee.is_some()
    }

    /// Returns the size of the pooled form in bytes, sidecar included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the size in the memory of the pool in bytes, sidecar included.
    pub fn memory_size(&self) -> usize {
        self.memory_size
    }

    /// Returns the offered fees.
    pub fn fees(&self) -> &Fees {
        &self.fees
    }

    /// Returns the maximum cost to the sender (wei): gas, value and blob gas.
    pub fn cost(&self) -> U256 {
        self.cost
    }

    /// Returns the EIP-2718 bytes of the pooled form, as submitted.
    pub fn encoded(&self) -> Bytes {
        match (self.transaction.envelope(), &self.sidecar) {
            (Envelope::Signed(SignedEnvelope::Eip4844(signed)), Some(sidecar)) => {
                let (transaction, signature, hash) = signed.clone().into_parts();
                let pooled = transaction.with_sidecar(Sidecar::clone(sidecar));
                Signed::new_unchecked(pooled, signature, hash).encoded_2718().into()
            }
            _ => self.transaction.encoded().clone(),
        }
    }

    /// Returns the transaction hash.
    pub fn hash(&self) -> B256 {
        self.transaction.hash()
    }

    /// Returns the sender.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// Returns the nonce.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }
}

/// A transaction in the pool.
#[derive(Debug)]
pub struct PooledTransaction {
    submission: CheckedTransaction,
    arrival: u64,
}

impl PooledTransaction {
    pub(crate) fn new(submission: CheckedTransaction, arrival: u64) -> Self {
        Self { submission, arrival }
    }

    /// Returns the position in the order of arrival.
    pub fn arrival(&self) -> u64 {
        self.arrival
    }
}

impl std::ops::Deref for PooledTransaction {
    type Target = CheckedTransaction;

    fn deref(&self) -> &CheckedTransaction {
        &self.submission
    }
}

/// Returns the bytes of a decoded sidecar. Its list of blobs grows by doubling.
fn sidecar_memory_size(sidecar: &Sidecar) -> usize {
    let blobs = match sidecar {
        Sidecar::Eip4844(sidecar) => sidecar.blobs.len(),
        Sidecar::Eip7594(sidecar) => sidecar.blobs.len(),
    };
    let unused = blobs.next_power_of_two() - blobs;
    sidecar.size() + unused * BYTES_PER_BLOB
}

/// Returns the maximum cost (wei): gas at the maximum fee, value, and blob gas at the maximum blob fee.
///
/// The sum saturates: no balance covers that.
fn max_cost(transaction: &Transaction, fees: &Fees) -> U256 {
    let envelope = transaction.envelope();
    let gas = U256::from(envelope.gas_limit()) * U256::from(fees.max_fee);
    let blobs = U256::from(envelope.blob_gas_used().unwrap_or(0)) * U256::from(fees.blob_fee.unwrap_or(0));
    gas.saturating_add(blobs).saturating_add(envelope.value())
}
