//! Data behind the pool's lock: the sender queues, and the orders over their ends.

use std::sync::Arc;

use alloy_primitives::{
    Address, B256,
    map::{AddressMap, B256HashMap, B256HashSet},
};
use foreseal_primitives::{Account, L1Fees};
use foreseal_state::{StateError, StateReader};

use crate::{
    arrival_log::ArrivalLog,
    config::PoolConfig,
    costs::CostRules,
    dropped_history::DroppedHistory,
    error::PoolError,
    eviction_order::{EvictionOrder, is_same_transaction},
    fees::Fees,
    metrics::PoolMetrics,
    pool_event::PoolChange,
    priority_order::PriorityOrder,
    sender_queue::{QueueEnds, SenderQueue},
    status::{DropReason, Dropped, QueuedReason, Status},
    transaction::{CheckedTransaction, PooledTransaction},
};

/// The pool's data.
///
/// Every change of a queue goes through [`Contents::update_queue`], which updates everything that depends on it.
/// Every visible change goes through one of six methods, which record it for the copies: `insert`,
/// `remove`, `set_account`, `set_fees`, `set_l1_fees`, `record_removed`.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) config: PoolConfig,
    pub(crate) senders: AddressMap<SenderQueue>,
    pub(crate) by_hash: B256HashMap<Arc<PooledTransaction>>,
    /// Hashes of the transactions that the builder has selected: they cannot be replaced.
    pub(crate) held: B256HashSet,
    /// The next transaction to run of every sender that has one.
    pub(crate) executable_heads: PriorityOrder,
    /// The last transaction of every sender; maintained only while the pool is near its limits.
    pub(crate) tails: Option<EvictionOrder>,
    pub(crate) dropped_history: DroppedHistory,
    /// Blob base fee of the block being built (wei per blob gas); zero if the block has none.
    pub(crate) blob_base_fee: u128,
    pub(crate) costs: CostRules,
    pub(crate) bytes: usize,
    pub(crate) executable_count: usize,
    next_sequence: u64,
    pub(crate) arrivals: ArrivalLog,
    pub(crate) metrics: PoolMetrics,
    /// Changes since the lock was acquired; `None` without a listener.
    pub(crate) changes: Option<Vec<PoolChange>>,
}

impl Contents {
    pub(crate) fn new(config: PoolConfig) -> Self {
        Self {
            dropped_history: DroppedHistory::new(config.max_dropped_history),
            arrivals: ArrivalLog::new(&config),
            config,
            senders: AddressMap::default(),
            by_hash: B256HashMap::default(),
            held: B256HashSet::default(),
            executable_heads: PriorityOrder::default(),
            tails: None,
            blob_base_fee: 0,
            costs: CostRules::default(),
            bytes: 0,
            executable_count: 0,
            next_sequence: 0,
            metrics: PoolMetrics::default(),
            changes: None,
        }
    }

    /// Returns the arrival number of the next transaction.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Sets the arrival number of the next transaction.
    pub(crate) fn set_next_sequence(&mut self, next: u64) {
        self.next_sequence = next;
    }

    /// Adds a transaction. `account` is the sender's account, used if the sender has no queue yet.
    pub(crate) fn insert(
        &mut self,
        submission: CheckedTransaction,
        account: &Account,
    ) -> Option<Arc<PooledTransaction>> {
        self.insert_numbered(Arc::new(PooledTransaction::new(submission, self.next_sequence)), account)
    }

    /// Adds a transaction that already has its arrival number.
    pub(crate) fn insert_numbered(
        &mut self,
        transaction: Arc<PooledTransaction>,
        account: &Account,
    ) -> Option<Arc<PooledTransaction>> {
        let (nonce, balance) = (account.nonce, account.balance);
        self.record_change(|| PoolChange::Insert { transaction: transaction.clone(), nonce, balance });
        self.next_sequence = transaction.arrival() + 1;
        self.bytes += transaction.memory_size();
        self.metrics.added += 1;
        let (sender, hash) = (transaction.sender(), transaction.hash());
        self.arrivals.push(transaction.transaction());
        self.by_hash.insert(hash, transaction.clone());
        self.senders.entry(sender).or_insert_with(|| SenderQueue::new(account));
        let costs = self.costs;
        let replaced = self.update_queue(sender, |queue| queue.insert(transaction, &costs))?;
        if let Some(old) = &replaced {
            self.remove_from_index(old);
            self.metrics.replaced += 1;
            self.dropped_history.record(old.hash(), Status::Replaced { by: hash });
        }
        replaced
    }

    /// Removes a transaction. Later transactions of its sender stay and wait.
    pub(crate) fn remove(&mut self, hash: &B256) -> Option<Arc<PooledTransaction>> {
        let transaction = self.by_hash.get(hash)?.clone();
        self.record_change(|| PoolChange::Remove { hash: *hash });
        self.update_queue(transaction.sender(), |queue| queue.remove(transaction.nonce()));
        self.remove_from_index(&transaction);
        Some(transaction)
    }

    /// Updates a sender's account. Removes and returns the transactions whose nonce is used up.
    pub(crate) fn set_account(&mut self, sender: Address, account: &Account) -> Vec<Arc<PooledTransaction>> {
        let costs = self.costs;
        let Some(used_up) = self.update_queue(sender, |queue| queue.set_account(account, &costs)) else {
            return Vec::new();
        };
        let (nonce, balance) = (account.nonce, account.balance);
        self.record_change(|| PoolChange::Account { sender, nonce, balance });
        for transaction in &used_up {
            self.remove_from_index(transaction);
        }
        used_up
    }

    pub(crate) fn set_fees(&mut self, base_fee: u128, blob_base_fee: u128) {
        if (base_fee, blob_base_fee) == (self.executable_heads.base_fee(), self.blob_base_fee) {
            return;
        }
        self.record_change(|| PoolChange::Fees { base_fee, blob_base_fee });
        self.blob_base_fee = blob_base_fee;
        self.executable_heads.set_base_fee(base_fee);
    }

    /// Sets the fees of L1. Returns the senders whose transactions must be counted again, with
    /// [`Self::recount_executable`].
    pub(crate) fn set_l1_fees(&mut self, fees: L1Fees) -> Vec<Address> {
        let before = self.costs.l1.replace(fees);
        if before == Some(fees) {
            return Vec::new();
        }
        self.record_change(|| PoolChange::L1Fees(fees));
        let has_same_operator = before.is_some_and(|before| before.operator == fees.operator);
        let senders = self.senders.iter();
        let affected = senders.filter(|(_, queue)| !has_same_operator || queue.depends_on(&self.costs));
        affected.map(|(sender, _)| *sender).collect()
    }

    /// Evaluates anew which transactions of a sender can run.
    pub(crate) fn recount_executable(&mut self, sender: Address) {
        let costs = self.costs;
        self.update_queue(sender, |queue| queue.recount_executable(&costs));
    }

    /// Checks every sender against another state. After an unwind, nonces and balances may rise or fall.
    pub(crate) fn recheck_all(&mut self, state: &dyn StateReader) -> Result<Vec<Dropped>, StateError> {
        let mut senders: Vec<Address> = self.senders.keys().copied().collect();
        senders.sort_unstable();
        let mut dropped = Vec::new();
        for sender in senders {
            let account = state.account(&sender)?.unwrap_or_default();
            for removed in self.set_account(sender, &account) {
                dropped.push(self.record_dropped(removed.hash(), DropReason::NonceTooLow));
            }
        }
        Ok(dropped)
    }

    /// Records why a transaction left.
    pub(crate) fn record_dropped(&mut self, hash: B256, reason: DropReason) -> Dropped {
        self.record_removed(hash, Status::Dropped(reason.clone()));
        Dropped { hash, reason }
    }

    pub(crate) fn record_removed(&mut self, hash: B256, status: Status) {
        self.record_change(|| PoolChange::RemovedStatus { hash, status: status.clone() });
        if let Status::Dropped(reason) = &status {
            self.metrics.drop(reason);
        }
        self.dropped_history.record(hash, status);
    }

    /// Records why a returning transaction was not admitted. Returns `None` if it is pooled or in an unsealed
    /// step: then it was not lost.
    pub(crate) fn record_rejected(&mut self, hash: B256, error: &PoolError) -> Option<Dropped> {
        let reason = match error {
            PoolError::AlreadyKnown => return None,
            PoolError::NonceTooLow { .. } => DropReason::NonceTooLow,
            error => DropReason::NotReinjected(error.message()),
        };
        Some(self.record_dropped(hash, reason))
    }

    /// Returns the condition that a pooled transaction waits for; `None` if it can run in the next step.
    pub(crate) fn queued_reason(&self, transaction: &PooledTransaction) -> Option<QueuedReason> {
        let queue = self.senders.get(&transaction.sender())?;
        let nonce = transaction.nonce();
        if let Some(waiting) = queue.queued_reason(nonce, &self.costs) {
            return Some(waiting);
        }
        let mut predecessors = queue.executable().iter().take_while(|t| t.nonce() <= nonce);
        let (blocked, waiting) = predecessors.find_map(|t| Some((t, self.queued_by_fees(t.fees())?)))?;
        Some(if blocked.nonce() == nonce {
            waiting
        } else {
            QueuedReason::Predecessor { nonce: blocked.nonce() }
        })
    }

    /// Returns the base fee that must fall before `fees` cover it; `None` if `fees` cover both base fees.
    pub(crate) fn queued_by_fees(&self, fees: &Fees) -> Option<QueuedReason> {
        let (base_fee, blob_base_fee) = (self.executable_heads.base_fee(), self.blob_base_fee);
        if fees.max_fee < base_fee {
            return Some(QueuedReason::BaseFee { max_fee: fees.max_fee, base_fee });
        }
        let max_fee = fees.blob_fee.filter(|fee| *fee < blob_base_fee)?;
        Some(QueuedReason::BlobBaseFee { max_fee, blob_base_fee })
    }

    fn record_change(&mut self, change: impl FnOnce() -> PoolChange) {
        if let Some(changes) = &mut self.changes {
            changes.push(change());
        }
    }

    /// Changes one queue and then everything that depends on it. Returns `None` if the sender has no queue.
    fn update_queue<R>(&mut self, sender: Address, change: impl FnOnce(&mut SenderQueue) -> R) -> Option<R> {
        let queue = self.senders.get_mut(&sender)?;
        let before = queue.ends();
        let result = change(queue);
        let after = queue.ends();
        if queue.all().is_empty() {
            self.senders.remove(&sender);
        }
        self.executable_count = self.executable_count - before.executable_count + after.executable_count;
        self.update_orders(&before, &after);
        Some(result)
    }

    fn update_orders(&mut self, before: &QueueEnds, after: &QueueEnds) {
        if !is_same_transaction(before.head.as_ref(), after.head.as_ref()) {
            if let Some(head) = &before.head {
                self.executable_heads.remove(head);
            }
            if let Some(head) = &after.head {
                self.executable_heads.insert(head.clone());
            }
        }
        if let Some(tails) = &mut self.tails {
            tails.update(before, after);
        }
    }

    fn remove_from_index(&mut self, transaction: &PooledTransaction) {
        self.bytes -= transaction.memory_size();
        self.by_hash.remove(&transaction.hash());
        self.held.remove(&transaction.hash());
    }
}
