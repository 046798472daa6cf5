//! A replica of a pool in another process. It applies events without admission, state or clock.

use std::sync::Arc;

use alloy_primitives::{Address, map::AddressMap};
use foreseal_primitives::Account;

use crate::{
    Pool, PoolConfig, PoolEvent, PoolSink, PooledTransaction,
    contents::Contents,
    event::{Departure, PoolChange, PoolContents, PoolEventKind, Sender},
    queue::SenderQueue,
};

impl Pool {
    /// Sets the listener that receives every change from now on; `None` removes it.
    pub fn listen(&self, sink: Option<Arc<dyn PoolSink>>) {
        self.lock().listen(sink);
    }

    /// Passes the whole pool as one event to `with`.
    ///
    /// `with` runs under the lock, so it can record the position of the event among the others.
    pub fn whole<T>(&self, with: impl FnOnce(PoolEvent) -> T) -> T {
        let contents = self.lock();
        with(PoolEvent(PoolEventKind::Complete(Box::new(contents.whole()))))
    }

    /// Adds the transactions of a whole-pool event that are missing here, and removes none.
    ///
    /// This serves a replica that was disconnected. A transaction that returned to the pool meanwhile is
    /// present before the replica shows the view that no longer contains it. A later [`Self::apply`] does the
    /// rest.
    pub fn join(&self, event: &PoolEvent) {
        let PoolEventKind::Complete(whole) = &event.0 else { return };
        let accounts = whole.accounts();
        let mut transactions: Vec<_> = whole.transactions.iter().collect();
        transactions.sort_unstable_by_key(|transaction| transaction.arrival());
        let mut contents = self.lock();
        for transaction in transactions {
            let account = accounts.get(&transaction.sender()).copied().unwrap_or_default();
            contents.accept(transaction.clone(), &account);
        }
    }

    /// Applies an event of another pool. This pool has the same settings and no transactions of its own.
    ///
    /// The numbers of [`Self::arrivals`] are this pool's own. With a whole-pool event, only the transactions
    /// that were missing here count as arrivals.
    pub fn apply(&self, event: PoolEvent) {
        match event.0 {
            PoolEventKind::Changes(changes) => {
                let mut contents = self.lock();
                for change in changes {
                    contents.apply(change);
                }
            }
            PoolEventKind::Complete(whole) => {
                let new = Contents::from_whole(self.config(), *whole);
                let mut contents = self.lock();
                contents.arrive(&new);
                let before = contents.replace(new, PoolEventKind::Complete);
                drop(contents);
                // Free the old contents outside the lock.
                drop(before);
            }
            PoolEventKind::Reset(whole) => {
                let new = Contents::from_whole(self.config(), *whole);
                let before = self.lock().replace(new, PoolEventKind::Reset);
                drop(before);
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
    pub(crate) fn whole(&self) -> PoolContents {
        let sender = |(address, queue): (&Address, &SenderQueue)| {
            let (nonce, balance) = queue.account();
            Sender { address: *address, nonce, balance }
        };
        PoolContents {
            base_fee: self.heads.base_fee(),
            blob_base_fee: self.blob_base_fee,
            next: self.next_arrival(),
            senders: self.senders.iter().map(sender).collect(),
            transactions: self.by_hash.values().cloned().collect(),
            departed: self.departed.iter().map(|(hash, fate)| Departure { hash, fate }).collect(),
        }
    }

    fn from_whole(config: &PoolConfig, whole: PoolContents) -> Self {
        let mut contents = Self::new(config.clone());
        contents.set_fees(whole.base_fee, whole.blob_base_fee);
        let accounts = whole.accounts();
        for transaction in whole.transactions {
            let account = accounts.get(&transaction.sender()).copied().unwrap_or_default();
            contents.accept(transaction, &account);
        }
        for Departure { hash, fate } in whole.departed {
            contents.depart(hash, fate);
        }
        contents.number_from(whole.next);
        contents
    }

    fn apply(&mut self, change: PoolChange) {
        match change {
            PoolChange::Insert { transaction, nonce, balance } => {
                self.accept(transaction, &Account { nonce, balance, ..Account::default() });
            }
            PoolChange::Remove { hash } => {
                self.remove(&hash);
            }
            PoolChange::Account { sender, nonce, balance } => {
                self.set_account(sender, &Account { nonce, balance, ..Account::default() });
            }
            PoolChange::Fees { base_fee, blob_base_fee } => self.set_fees(base_fee, blob_base_fee),
            PoolChange::Depart { hash, fate } => self.depart(hash, fate),
        }
    }

    /// Inserts a transaction unless it is already present: like admission, it inserts nothing twice.
    fn accept(&mut self, transaction: Arc<PooledTransaction>, account: &Account) {
        if !self.by_hash.contains_key(&transaction.hash()) {
            self.insert_numbered(transaction, account);
        }
    }

    /// Records the transactions of `new` that are missing here as arrivals.
    fn arrive(&mut self, new: &Self) {
        let is_new = |one: &&Arc<PooledTransaction>| !self.by_hash.contains_key(&one.hash());
        let mut arrived: Vec<_> = new.by_hash.values().filter(is_new).collect();
        arrived.sort_unstable_by_key(|transaction| transaction.arrival());
        for transaction in arrived {
            self.arrived.push(transaction.transaction());
        }
    }
}
