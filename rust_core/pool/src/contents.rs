//! Data behind the pool's lock: the sender queues, and the orders over their ends.

use std::sync::Arc;

use alloy_primitives::{
    Address, B256,
    map::{AddressMap, B256HashMap},
};
use foreseal_primitives::Account;
use foreseal_state::{StateError, StateReader};

use crate::{
    DropReason, Dropped, Fees, PoolConfig, PoolError, PoolMetrics, PooledTransaction, Status, Submission,
    Waiting,
    arrivals::Arrivals,
    dropped_history::DroppedHistory,
    event::PoolChange,
    eviction_order::{EvictionOrder, same},
    order::Order,
    queue::{QueueEnds, SenderQueue},
};

/// The pool's data.
///
/// Every change of a queue goes through [`Contents::edit`], which updates everything that depends on it.
/// Every visible change goes through one of five methods, which record it for the replicas: `insert`,
/// `remove`, `set_account`, `set_fees`, `depart`.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) config: PoolConfig,
    pub(crate) senders: AddressMap<SenderQueue>,
    pub(crate) by_hash: B256HashMap<Arc<PooledTransaction>>,
    /// The next transaction to run of every sender that has one.
    pub(crate) heads: Order,
    /// The last transaction of every sender; maintained only while the pool is near its limits.
    pub(crate) tails: Option<EvictionOrder>,
    pub(crate) departed: DroppedHistory,
    /// Blob base fee of the block being built (wei per blob gas); zero if the block has none.
    pub(crate) blob_base_fee: u128,
    pub(crate) bytes: usize,
    pub(crate) runnable: usize,
    arrivals: u64,
    pub(crate) arrived: Arrivals,
    pub(crate) figures: PoolMetrics,
    /// Changes since the lock was acquired; `None` without a listener.
    pub(crate) changes: Option<Vec<PoolChange>>,
}

impl Contents {
    pub(crate) fn new(config: PoolConfig) -> Self {
        Self {
            departed: DroppedHistory::new(config.max_departed),
            arrived: Arrivals::new(&config),
            config,
            senders: AddressMap::default(),
            by_hash: B256HashMap::default(),
            heads: Order::default(),
            tails: None,
            blob_base_fee: 0,
            bytes: 0,
            runnable: 0,
            arrivals: 0,
            figures: PoolMetrics::default(),
            changes: None,
        }
    }

    /// Returns the arrival number of the next transaction.
    pub(crate) fn next_arrival(&self) -> u64 {
        self.arrivals
    }

    /// Sets the arrival number of the next transaction.
    pub(crate) fn number_from(&mut self, next: u64) {
        self.arrivals = next;
    }

    /// Adds a transaction. `account` is the sender's account, used if the sender has no queue yet.
    pub(crate) fn insert(
        &mut self,
        submission: Submission,
        account: &Account,
    ) -> Option<Arc<PooledTransaction>> {
        self.insert_numbered(Arc::new(PooledTransaction::new(submission, self.arrivals)), account)
    }

    /// Adds a transaction that already has its arrival number.
    pub(crate) fn insert_numbered(
        &mut self,
        transaction: Arc<PooledTransaction>,
        account: &Account,
    ) -> Option<Arc<PooledTransaction>> {
        let (nonce, balance) = (account.nonce, account.balance);
        self.note(|| PoolChange::Insert { transaction: transaction.clone(), nonce, balance });
        self.arrivals = transaction.arrival() + 1;
        self.bytes += transaction.size();
        self.figures.added += 1;
        let (sender, hash) = (transaction.sender(), transaction.hash());
        self.arrived.push(transaction.transaction());
        self.by_hash.insert(hash, transaction.clone());
        self.senders.entry(sender).or_insert_with(|| SenderQueue::new(account));
        let replaced = self.edit(sender, |queue| queue.insert(transaction))?;
        if let Some(old) = &replaced {
            self.forget(old);
            self.figures.replaced += 1;
            self.departed.record(old.hash(), Status::Replaced { by: hash });
        }
        replaced
    }

    /// Removes a transaction. Later transactions of its sender stay and wait.
    pub(crate) fn remove(&mut self, hash: &B256) -> Option<Arc<PooledTransaction>> {
        let transaction = self.by_hash.get(hash)?.clone();
        self.note(|| PoolChange::Remove { hash: *hash });
        self.edit(transaction.sender(), |queue| queue.remove(transaction.nonce()));
        self.forget(&transaction);
        Some(transaction)
    }

    /// Updates a sender's account. Removes and returns the transactions whose nonce is used up.
    pub(crate) fn set_account(&mut self, sender: Address, account: &Account) -> Vec<Arc<PooledTransaction>> {
        let Some(used_up) = self.edit(sender, |queue| queue.set_account(account)) else { return Vec::new() };
        let (nonce, balance) = (account.nonce, account.balance);
        self.note(|| PoolChange::Account { sender, nonce, balance });
        for transaction in &used_up {
            self.forget(transaction);
        }
        used_up
    }

    pub(crate) fn set_fees(&mut self, base_fee: u128, blob_base_fee: u128) {
        if (base_fee, blob_base_fee) == (self.heads.base_fee(), self.blob_base_fee) {
            return;
        }
        self.note(|| PoolChange::Fees { base_fee, blob_base_fee });
        self.blob_base_fee = blob_base_fee;
        self.heads.set_base_fee(base_fee);
    }

    /// Checks every sender against another state. After an unwind, nonces and balances may rise or fall.
    pub(crate) fn recheck_all(&mut self, state: &dyn StateReader) -> Result<Vec<Dropped>, StateError> {
        let mut senders: Vec<Address> = self.senders.keys().copied().collect();
        senders.sort_unstable();
        let mut dropped = Vec::new();
        for sender in senders {
            let account = state.account(&sender)?.unwrap_or_default();
            for gone in self.set_account(sender, &account) {
                dropped.push(self.record(gone.hash(), DropReason::NonceTooLow));
            }
        }
        Ok(dropped)
    }

    /// Records why a transaction left.
    pub(crate) fn record(&mut self, hash: B256, reason: DropReason) -> Dropped {
        self.depart(hash, Status::Dropped(reason.clone()));
        Dropped { hash, reason }
    }

    pub(crate) fn depart(&mut self, hash: B256, fate: Status) {
        self.note(|| PoolChange::Depart { hash, fate: fate.clone() });
        if let Status::Dropped(reason) = &fate {
            self.figures.drop(reason);
        }
        self.departed.record(hash, fate);
    }

    /// Records why a returning transaction was not admitted. Returns `None` if it is pooled or in an unsealed
    /// step: then it was not lost.
    pub(crate) fn refuse(&mut self, hash: B256, error: &PoolError) -> Option<Dropped> {
        let reason = match error {
            PoolError::AlreadyKnown => return None,
            PoolError::NonceTooLow { .. } => DropReason::NonceTooLow,
            error => DropReason::Refused(error.message()),
        };
        Some(self.record(hash, reason))
    }

    /// Returns the condition that a pooled transaction waits for; `None` if it can run in the next step.
    pub(crate) fn waiting(&self, transaction: &PooledTransaction) -> Option<Waiting> {
        let queue = self.senders.get(&transaction.sender())?;
        let nonce = transaction.nonce();
        if let Some(waiting) = queue.waiting(nonce) {
            return Some(waiting);
        }
        let mut up_to_it = queue.runnable().iter().take_while(|t| t.nonce() <= nonce);
        let (blocked, waiting) = up_to_it.find_map(|t| Some((t, self.waiting_for_fees(t.fees())?)))?;
        Some(if blocked.nonce() == nonce { waiting } else { Waiting::Predecessor { nonce: blocked.nonce() } })
    }

    /// Returns the base fee that must fall before `fees` cover it; `None` if `fees` cover both base fees.
    pub(crate) fn waiting_for_fees(&self, fees: &Fees) -> Option<Waiting> {
        let (base_fee, blob_base_fee) = (self.heads.base_fee(), self.blob_base_fee);
        if fees.max_fee < base_fee {
            return Some(Waiting::BaseFee { max_fee: fees.max_fee, base_fee });
        }
        let max_fee = fees.blob_fee.filter(|fee| *fee < blob_base_fee)?;
        Some(Waiting::BlobBaseFee { max_fee, blob_base_fee })
    }

    fn note(&mut self, change: impl FnOnce() -> PoolChange) {
        if let Some(changes) = &mut self.changes {
            changes.extend(Some(change()).filter(|change| !change.is_lost()));
        }
    }

    /// Changes one queue and then everything that depends on it. Returns `None` if the sender has no queue.
    fn edit<R>(&mut self, sender: Address, change: impl FnOnce(&mut SenderQueue) -> R) -> Option<R> {
        let queue = self.senders.get_mut(&sender)?;
        let before = queue.ends();
        let result = change(queue);
        let after = queue.ends();
        if queue.all().is_empty() {
            self.senders.remove(&sender);
        }
        self.runnable = self.runnable - before.runnable + after.runnable;
        self.reorder(&before, &after);
        Some(result)
    }

    fn reorder(&mut self, before: &QueueEnds, after: &QueueEnds) {
        if !same(before.head.as_ref(), after.head.as_ref()) {
            if let Some(head) = &before.head {
                self.heads.remove(head);
            }
            if let Some(head) = &after.head {
                self.heads.insert(head.clone());
            }
        }
        if let Some(tails) = &mut self.tails {
            tails.update(before, after);
        }
    }

    fn forget(&mut self, transaction: &PooledTransaction) {
        self.bytes -= transaction.size();
        self.by_hash.remove(&transaction.hash());
    }
}
