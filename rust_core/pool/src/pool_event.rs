//! Changes of a pool, for its copies in other processes.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::{Account, L1Fees, Transaction};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    origin::Origin,
    status::Status,
    submission::decode_form,
    transaction::{CheckedTransaction, PooledTransaction},
};

/// All changes under one acquisition of the pool's lock, or the whole pool. A copy that applies them
/// equals the pool. Decoding trusts the senders: they are not recovered again.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PoolEvent(pub(crate) PoolEventKind);

impl PoolEvent {
    /// Returns `true` if the event has the whole pool, for a copy that joins late or missed events.
    pub fn is_whole_pool(&self) -> bool {
        matches!(self.0, PoolEventKind::WholePool(_))
    }
}

/// Listener for the changes of a pool.
pub trait PoolEventSink: Send + Sync {
    /// Receives every event in order. It runs with the pool's lock held, so it must not call the pool.
    fn event(&self, event: &PoolEvent);
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum PoolEventKind {
    Changes(Vec<PoolChange>),
    /// The whole pool, for a copy that joins late or missed events.
    WholePool(Box<PoolContents>),
    /// The whole pool after a reset to an earlier state: no transaction counts as an arrival.
    Reset(Box<PoolContents>),
}

/// One change of the pool's data, as decided by the process that has the state.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum PoolChange {
    /// A transaction enters and replaces the one with the same sender and nonce. The account's nonce and
    /// balance apply if the sender had no queue.
    Insert {
        #[serde(with = "entry")]
        transaction: Arc<PooledTransaction>,
        nonce: u64,
        balance: U256,
    },
    Remove {
        hash: B256,
    },
    /// A sender's account changes. Transactions whose nonce is used up leave.
    Account {
        sender: Address,
        nonce: u64,
        balance: U256,
    },
    Fees {
        base_fee: u128,
        blob_base_fee: u128,
    },
    RemovedStatus {
        hash: B256,
        status: Status,
    },
    /// The fees of L1 change on an OP chain.
    L1Fees(L1Fees),
}

/// Complete contents of a pool.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(into = "PoolContentsEntries", try_from = "PoolContentsEntries")]
pub(crate) struct PoolContents {
    pub(crate) base_fee: u128,
    pub(crate) blob_base_fee: u128,
    /// Fees of L1 on an OP chain.
    pub(crate) l1_fees: Option<L1Fees>,
    /// Arrival number of the next transaction.
    pub(crate) next: u64,
    pub(crate) senders: Vec<Sender>,
    /// Unordered here; encoded in the order of arrival.
    pub(crate) transactions: Vec<Arc<PooledTransaction>>,
    /// Oldest first.
    pub(crate) removed: Vec<RemovedTransaction>,
}

/// A sender's account, as the pool last recorded it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Sender {
    pub(crate) address: Address,
    pub(crate) nonce: u64,
    pub(crate) balance: U256,
}

impl Sender {
    pub(crate) fn account(&self) -> Account {
        Account { nonce: self.nonce, balance: self.balance, ..Account::default() }
    }
}

/// A transaction that left, and its final status.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct RemovedTransaction {
    pub(crate) hash: B256,
    pub(crate) status: Status,
}

/// A transaction with the data that its own encoding lacks.
#[derive(Deserialize, Serialize)]
struct PoolEntry {
    sender: Address,
    arrival: u64,
    /// Recovered signers of the authorizations (EIP-7702).
    authorities: Vec<Option<Address>>,
    /// EIP-2718 bytes of the pooled form, with the sidecar if the pool has it.
    encoded: Bytes,
}

impl PoolEntry {
    fn new(transaction: &PooledTransaction) -> Self {
        Self {
            sender: transaction.sender(),
            arrival: transaction.arrival(),
            authorities: transaction.transaction().authorities().to_vec(),
            encoded: transaction.encoded(),
        }
    }

    fn decode(&self) -> Result<Arc<PooledTransaction>, &'static str> {
        let (envelope, sidecar) = decode_form(&self.encoded, Origin::Reinjected)
            .map_err(|_| "a transaction in a pool event does not decode")?;
        let transaction = Transaction::with_authorities(envelope, self.sender, self.authorities.clone())
            .ok_or("a transaction in a pool event misses authorities")?;
        let submission = CheckedTransaction::new(Arc::new(transaction), sidecar, self.encoded.len());
        // No pool admits that nonce (EIP-2681) or reaches that arrival number, and the pool computes the
        // successor of both.
        if submission.nonce() == u64::MAX || self.arrival == u64::MAX {
            return Err("a nonce or an arrival number is out of range");
        }
        Ok(Arc::new(PooledTransaction::new(submission, self.arrival)))
    }
}

mod entry {
    use super::{Arc, Deserialize, Deserializer, PoolEntry, PooledTransaction, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        transaction: &Arc<PooledTransaction>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        PoolEntry::new(transaction).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<PooledTransaction>, D::Error> {
        PoolEntry::deserialize(deserializer)?.decode().map_err(serde::de::Error::custom)
    }
}

/// Encoding of [`PoolContents`]: transactions are in the order of arrival.
#[derive(Deserialize, Serialize)]
struct PoolContentsEntries {
    base_fee: u128,
    blob_base_fee: u128,
    l1_fees: Option<L1Fees>,
    next: u64,
    senders: Vec<Sender>,
    transactions: Vec<PoolEntry>,
    departed: Vec<RemovedTransaction>,
}

impl From<PoolContents> for PoolContentsEntries {
    fn from(mut contents: PoolContents) -> Self {
        contents.transactions.sort_unstable_by_key(|transaction| transaction.arrival());
        Self {
            base_fee: contents.base_fee,
            blob_base_fee: contents.blob_base_fee,
            l1_fees: contents.l1_fees,
            next: contents.next,
            senders: contents.senders,
            transactions: contents
                .transactions
                .iter()
                .map(|transaction| PoolEntry::new(transaction))
                .collect(),
            departed: contents.removed,
        }
    }
}

impl TryFrom<PoolContentsEntries> for PoolContents {
    type Error = &'static str;

    /// Decodes the transactions on all cores.
    fn try_from(entries: PoolContentsEntries) -> Result<Self, Self::Error> {
        Ok(Self {
            base_fee: entries.base_fee,
            blob_base_fee: entries.blob_base_fee,
            l1_fees: entries.l1_fees,
            next: entries.next,
            senders: entries.senders,
            transactions: entries.transactions.par_iter().map(PoolEntry::decode).collect::<Result<_, _>>()?,
            removed: entries.departed,
        })
    }
}
