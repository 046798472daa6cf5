//! Changes of a pool, for its replicas in other processes.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{Error, Result};
use foreseal_primitives::{Account, Transaction, mutant};
use rayon::prelude::*;

use crate::{
    PooledTransaction, Status, Submission,
    origin::Origin,
    submission::decode_form,
    wire::{Wire, wire_enum, wire_struct},
};

/// All changes under one acquisition of the pool's lock, or the whole pool. A replica that applies them
/// equals the pool.
#[derive(Clone, Debug)]
pub struct PoolEvent(pub(crate) Happening);

/// Listener for the changes of a pool.
pub trait PoolSink: Send + Sync {
    /// Receives every event in order. It runs with the pool's lock held, so it must not call the pool.
    fn event(&self, event: &PoolEvent);
}

#[derive(Clone, Debug)]
pub(crate) enum Happening {
    Changes(Vec<Change>),
    /// The whole pool, for a replica that joins late or missed events.
    Whole(Box<Whole>),
    /// The whole pool after a reset to an earlier state: no transaction counts as an arrival.
    Reset(Box<Whole>),
}

/// One change of the pool's data, as decided by the process that has the state.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A transaction enters and replaces the one with the same sender and nonce. The account's nonce and
    /// balance apply if the sender had no queue.
    Insert {
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
    Depart {
        hash: B256,
        fate: Status,
    },
}

impl Change {
    /// Returns `true` if a mutation test withholds this change from the replicas; otherwise always `false`.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Insert { .. } => mutant!("lose-pool-insert"),
            Self::Remove { .. } => mutant!("lose-pool-remove"),
            Self::Account { .. } => mutant!("lose-pool-account"),
            Self::Fees { .. } => mutant!("lose-pool-fees"),
            Self::Depart { .. } => mutant!("lose-pool-departure"),
        }
    }
}

/// Complete contents of a pool.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) base_fee: u128,
    pub(crate) blob_base_fee: u128,
    /// Arrival number of the next transaction.
    pub(crate) next: u64,
    pub(crate) senders: Vec<Sender>,
    /// Unordered here; encoded in the order of arrival.
    pub(crate) transactions: Vec<Arc<PooledTransaction>>,
    /// Oldest first.
    pub(crate) departed: Vec<Departure>,
}

/// A sender's account, as the pool last recorded it.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub(crate) struct Departure {
    pub(crate) hash: B256,
    pub(crate) fate: Status,
}

const CHANGES: u8 = 0;
const WHOLE: u8 = 1;
const RESET: u8 = 2;

impl PoolEvent {
    /// Appends the encoding that [`Self::decode`] reads: one byte for the kind, then RLP.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Happening::Changes(changes) => {
                out.push(CHANGES);
                for change in changes {
                    change.put(out);
                }
            }
            Happening::Whole(whole) => {
                out.push(WHOLE);
                whole.put(out);
            }
            Happening::Reset(whole) => {
                out.push(RESET);
                whole.put(out);
            }
        }
    }

    /// Decodes the output of [`Self::encode`]. Senders are trusted, not recovered.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (kind, mut rest) = bytes.split_first().ok_or(Error::InputTooShort)?;
        Ok(Self(match *kind {
            CHANGES => {
                let mut changes = Vec::new();
                while !rest.is_empty() {
                    changes.push(Change::take(&mut rest)?);
                }
                Happening::Changes(changes)
            }
            WHOLE => Happening::Whole(Box::new(Whole::take_all(rest)?)),
            RESET => Happening::Reset(Box::new(Whole::take_all(rest)?)),
            _ => return Err(Error::Custom("unknown kind of pool event")),
        }))
    }
}

wire_enum!(Change {
    0 => Insert { transaction, nonce, balance },
    1 => Remove { hash },
    2 => Account { sender, nonce, balance },
    3 => Fees { base_fee, blob_base_fee },
    4 => Depart { hash, fate },
});

wire_struct!(Sender { address, nonce, balance });

wire_struct!(Departure { hash, fate });

/// A transaction with the data that its own encoding lacks.
struct Entry {
    sender: Address,
    arrival: u64,
    /// EIP-2718 bytes of the pooled form, with the sidecar if the pool has it.
    encoded: Bytes,
}

wire_struct!(Entry { sender, arrival, encoded });

impl Entry {
    fn of(transaction: &PooledTransaction) -> Self {
        Self { sender: transaction.sender(), arrival: transaction.arrival(), encoded: transaction.encoded() }
    }

    fn read(&self) -> Result<Arc<PooledTransaction>> {
        let (envelope, sidecar) = decode_form(&self.encoded, Origin::Returning)
            .map_err(|_| Error::Custom("a transaction in a pool event does not decode"))?;
        let transaction = Arc::new(Transaction::new(envelope, self.sender));
        let submission = Submission::new(transaction, sidecar, self.encoded.len());
        // No pool admits that nonce (EIP-2681) or reaches that arrival number, and the pool computes the
        // successor of both.
        if submission.nonce() == u64::MAX || self.arrival == u64::MAX {
            return Err(Error::Overflow);
        }
        Ok(Arc::new(PooledTransaction::new(submission, self.arrival)))
    }
}

impl Wire for Arc<PooledTransaction> {
    fn put(&self, out: &mut Vec<u8>) {
        Entry::of(self).put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Self> {
        Entry::take(bytes)?.read()
    }
}

impl Wire for Whole {
    fn put(&self, out: &mut Vec<u8>) {
        let mut transactions: Vec<&Arc<PooledTransaction>> = self.transactions.iter().collect();
        transactions.sort_unstable_by_key(|transaction| transaction.arrival());
        self.base_fee.put(out);
        self.blob_base_fee.put(out);
        self.next.put(out);
        self.senders.put(out);
        transactions.into_iter().map(|transaction| Entry::of(transaction)).collect::<Vec<_>>().put(out);
        self.departed.put(out);
    }

    /// Decodes the transactions on all cores.
    fn take(bytes: &mut &[u8]) -> Result<Self> {
        let (base_fee, blob_base_fee, next) = (u128::take(bytes)?, u128::take(bytes)?, u64::take(bytes)?);
        let senders = Vec::take(bytes)?;
        let entries: Vec<Entry> = Vec::take(bytes)?;
        let transactions = entries.par_iter().map(Entry::read).collect::<Result<_>>()?;
        Ok(Self { base_fee, blob_base_fee, next, senders, transactions, departed: Vec::take(bytes)? })
    }
}
