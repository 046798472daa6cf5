//! A transaction on its way into the pool, and in it.

use std::sync::Arc;

use alloy_consensus::{Signed, Transaction as _};
use alloy_eips::{eip2718::Encodable2718, eip7594::BlobTransactionSidecarVariant};
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_types::{Envelope, Transaction};

use crate::Fees;

/// Blobs, commitments and proofs (EIP-4844, EIP-7594). Blocks never carry them.
pub type Sidecar = BlobTransactionSidecarVariant;

/// A submission that passed every check that needs no state: its sender is recovered and its sidecar verified.
#[derive(Clone, Debug)]
pub struct Submission {
    transaction: Arc<Transaction>,
    sidecar: Option<Arc<Sidecar>>,
    size: usize,
    // Read out of the envelope once: ordering looks at them all the time.
    sender: Address,
    nonce: u64,
    fees: Fees,
    cost: U256,
}

impl Submission {
    pub(crate) fn new(transaction: Arc<Transaction>, sidecar: Option<Sidecar>, size: usize) -> Self {
        let fees = Fees::of(transaction.envelope());
        let cost = most_cost(&transaction, &fees);
        let (sender, nonce) = (transaction.sender(), transaction.envelope().nonce());
        Self { transaction, sidecar: sidecar.map(Arc::new), size, sender, nonce, fees, cost }
    }

    /// A transaction that passed every check that needs no state. If it has a sidecar, that is not at hand.
    pub(crate) fn checked(transaction: Arc<Transaction>) -> Self {
        let size = transaction.encoded().len();
        Self::new(transaction, None, size)
    }

    /// The transaction as a block carries it.
    pub fn transaction(&self) -> &Arc<Transaction> {
        &self.transaction
    }

    /// The blob sidecar; `None` without blobs, or for a transaction that came back from an unwound block.
    pub fn sidecar(&self) -> Option<&Arc<Sidecar>> {
        self.sidecar.as_ref()
    }

    /// Whether it pays for blobs.
    pub fn has_blobs(&self) -> bool {
        self.fees.blob_fee.is_some()
    }

    /// Bytes of the pooled form, sidecar included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The offered fees.
    pub fn fees(&self) -> &Fees {
        &self.fees
    }

    /// The most it can take from the sender (wei): gas, value and blob gas.
    pub fn cost(&self) -> U256 {
        self.cost
    }

    /// EIP-2718 bytes of the pooled form: as submitted.
    pub fn encoded(&self) -> Bytes {
        match (self.transaction.envelope(), &self.sidecar) {
            (Envelope::Eip4844(signed), Some(sidecar)) => {
                let (transaction, signature, hash) = signed.clone().into_parts();
                let pooled = transaction.with_sidecar(Sidecar::clone(sidecar));
                Signed::new_unchecked(pooled, signature, hash).encoded_2718().into()
            }
            _ => self.transaction.encoded().clone(),
        }
    }

    /// The transaction hash.
    pub fn hash(&self) -> B256 {
        self.transaction.hash()
    }

    /// The sender.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// The sender's nonce that it uses.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }
}

/// A transaction in the pool.
#[derive(Debug)]
pub struct PooledTransaction {
    submission: Submission,
    arrival: u64,
}

impl PooledTransaction {
    pub(crate) fn new(submission: Submission, arrival: u64) -> Self {
        Self { submission, arrival }
    }

    /// Position in the order of arrival.
    pub fn arrival(&self) -> u64 {
        self.arrival
    }
}

impl std::ops::Deref for PooledTransaction {
    type Target = Submission;

    fn deref(&self) -> &Submission {
        &self.submission
    }
}

/// Gas at the maximum fee, value and blob gas at the maximum blob fee. Saturates: no balance covers that.
fn most_cost(transaction: &Transaction, fees: &Fees) -> U256 {
    let envelope = transaction.envelope();
    let gas = U256::from(envelope.gas_limit()) * U256::from(fees.max_fee);
    let blobs = U256::from(envelope.blob_gas_used().unwrap_or(0)) * U256::from(fees.blob_fee.unwrap_or(0));
    gas.saturating_add(blobs).saturating_add(envelope.value())
}
