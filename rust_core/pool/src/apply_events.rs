//! A copy of a pool in another process. It applies events without admission, state or clock.

use std::sync::Arc;

use alloy_primitives::{Address, B256, map::AddressMap};
use foreseal_primitives::Account;

use crate::{
    config::PoolConfig,
    contents::Contents,
    costs::CostRules,
    pool::Pool,
    pool_event::{
        PoolChange, PoolContents, PoolEvent, PoolEventKind, PoolEventSink, RemovedTransaction, Sender,
    },
    sender_queue::SenderQueue,
    status::{DropReason, Status},
    transaction::PooledTransaction,
};

impl Pool {
    /// Sets the listener that receives every change from now on; `None` removes it.
    pub fn set_sink(&self, sink: Option<Arc<dyn PoolEventSink>>) {
        self.lock().set_sink(sink);
    }

    /// Passes the whole pool as one event to `with`.
    ///
    /// `with` runs under the lock, so it can record the position of the event among the others.
    pub fn whole_pool_event<T>(&self, with: impl FnOnce(PoolEvent) -> T) -> T {
        let contents = self.lock();
        with(PoolEvent(PoolEventKind::WholePool(Box::new(contents.full_contents()))))
    }

    /// Adds the transactions of a whole-pool event that are missing here, and removes none.
    ///
    /// This serves a copy that was disconnected. A transaction that returned to the pool meanwhile is
    /// present before the copy shows the view that no longer contains it. A later [`Self::apply`] does the
    /// rest.
    pub fn insert_missing(&self, event: &PoolEvent) {
        let PoolEventKind::WholePool(contents) = &event.0 else { return };
        let accounts = contents.accounts();
        let mut transactions: Vec<_> = contents.transactions.iter().collect();
        transactions.sort_unstable_by_key(|transaction| transaction.arrival());
        let mut contents = self.lock();
        for transaction in transactions {
            let account = accounts.get(&transaction.sender()).copied().unwrap_or_default();
            contents.insert_if_absent(transaction.clone(), &account);
        }
    }

    /// Applies an event of another pool. This pool has the same settings and no transactions of its own.
    ///
    /// The numbers of [`Self::pending_hashes_since`] are this pool's own. With a whole-pool event, only the
    /// transactions that were missing here count as arrivals.
    pub fn apply(&self, event: PoolEvent) {
        drop(self.replace_or_change(event));
    }

    /// Applies an event like [`Self::apply`], from a sequencer that has replaced the one before. Transactions here
    /// that its whole-pool event lacks are recorded as lost, except those that `is_included` finds in the chain.
    pub fn apply_from_successor(&self, event: PoolEvent, is_included: impl Fn(&B256) -> bool) {
        // Everything below runs outside the lock, except the records.
        let Some(old) = self.replace_or_change(event) else { return };
        let mut lost: Vec<B256> = old.by_hash.keys().copied().collect();
        drop(old);
        {
            let contents = self.lock();
            lost.retain(|hash| contents.is_unknown(hash));
        }
        lost.retain(|hash| !is_included(hash));
        // The history is bounded: the order must not depend on the table.
        lost.sort_unstable();
        let mut contents = self.lock();
        for hash in lost {
            if contents.is_unknown(&hash) {
                contents.record_removed(hash, Status::Dropped(DropReason::SequencerReplaced));
            }
        }
    }

    /// Applies an event. Returns the old contents if it replaces all, so that the caller frees them outside the lock.
    fn replace_or_change(&self, event: PoolEvent) -> Option<Contents> {
        match event.0 {
            PoolEventKind::Changes(changes) => {
                let mut contents = self.lock();
                for change in changes {
                    contents.apply(change);
                }
                None
            }
            PoolEventKind::WholePool(contents) => {
                let new = Contents::from_full_contents(self.config(), *contents);
                let mut contents = self.lock();
                contents.log_missing(&new);
                Some(contents.replace(new, PoolEventKind::WholePool))
            }
            PoolEventKind::Reset(whole) => {
                let new = Contents::from_full_contents(self.config(), *whole);
                Some(self.lock().replace(new, PoolEventKind::Reset))
            }
        }
    }
}

impl PoolContents {
    fn accounts(&self) -> AddressMap<Account> {
        self.senders.iter().map(|sender| (sender.address, sender.account())).collect()
    }
}

impl Contents {
    pub(crate) fn full_contents(&self) -> PoolContents {
        let sender = |(address, queue): (&Address, &SenderQueue)| {
            let (nonce, balance) = queue.account();
            Sender { address: *address, nonce, balance }
        };
        PoolContents {
            base_fee: self.executable_heads.base_fee(),
            blob_base_fee: self.blob_base_fee,
            l1_fees: self.costs.l1,
            next: self.next_sequence(),
            senders: self.senders.iter().map(sender).collect(),
            transactions: self.by_hash.values().cloned().collect(),
            removed: self
                .dropped_history
                .iter()
                .map(|(hash, status)| RemovedTransaction { hash, status })
                .collect(),
        }
    }

    fn from_full_contents(config: &PoolConfig, whole: PoolContents) -> Self {
        let mut contents = Self::new(config.clone());
        contents.set_fees(whole.base_fee, whole.blob_base_fee);
        contents.costs = CostRules { l1: whole.l1_fees };
        let accounts = whole.accounts();
        for transaction in whole.transactions {
            let account = accounts.get(&transaction.sender()).copied().unwrap_or_default();
            contents.insert_if_absent(transaction, &account);
        }
        for RemovedTransaction { hash, status } in whole.removed {
            contents.record_removed(hash, status);
        }
        contents.set_next_sequence(whole.next);
        contents
    }

    fn apply(&mut self, change: PoolChange) {
        match change {
            PoolChange::Insert { transaction, nonce, balance } => {
                self.insert_if_absent(transaction, &Account { nonce, balance, ..Account::default() });
            }
            PoolChange::Remove { hash } => {
                self.remove(&hash);
            }
            PoolChange::Account { sender, nonce, balance } => {
                self.set_account(sender, &Account { nonce, balance, ..Account::default() });
            }
            PoolChange::Fees { base_fee, blob_base_fee } => self.set_fees(base_fee, blob_base_fee),
            PoolChange::L1Fees(fees) => {
                for sender in self.set_l1_fees(fees) {
                    self.recount_executable(sender);
                }
            }
            PoolChange::RemovedStatus { hash, status } => self.record_removed(hash, status),
        }
    }

    /// Inserts a transaction unless it is already present: like admission, it inserts nothing twice.
    fn insert_if_absent(&mut self, transaction: Arc<PooledTransaction>, account: &Account) {
        if !self.by_hash.contains_key(&transaction.hash()) {
            self.insert_numbered(transaction, account);
        }
    }

    /// Returns `true` if the transaction is neither here nor in the history of those that were removed.
    fn is_unknown(&self, hash: &B256) -> bool {
        !self.by_hash.contains_key(hash) && self.dropped_history.get(hash).is_none()
    }

    /// Records the transactions of `new` that are missing here as arrivals.
    fn log_missing(&mut self, new: &Self) {
        let is_new = |one: &&Arc<PooledTransaction>| !self.by_hash.contains_key(&one.hash());
        let mut missing: Vec<_> = new.by_hash.values().filter(is_new).collect();
        missing.sort_unstable_by_key(|transaction| transaction.arrival());
        for transaction in missing {
            self.arrivals.push(transaction.transaction());
        }
    }
}
