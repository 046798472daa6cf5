//! A pool in another process that does what this one did: no admission, no state, no clock.

use std::sync::Arc;

use alloy_primitives::{Address, map::AddressMap};
use foreseal_types::Account;

use crate::{
    Pool, PoolConfig, PoolEvent, PoolSink, PooledTransaction,
    contents::Contents,
    event::{Change, Departure, Happening, Sender, Whole},
    queue::SenderQueue,
};

impl Pool {
    /// Tells `sink` every change from now on, or nobody.
    pub fn listen(&self, sink: Option<Arc<dyn PoolSink>>) {
        self.lock().listen(sink);
    }

    /// The whole pool as one event. `with` runs under the lock, so that the event's place among the others can be noted.
    pub fn whole<T>(&self, with: impl FnOnce(PoolEvent) -> T) -> T {
        let contents = self.lock();
        with(PoolEvent(Happening::Whole(Box::new(contents.whole()))))
    }

    /// Takes in what a whole pool has and this one has not; nothing leaves. For a replica that was away: what returned to
    /// the pool meanwhile is here before the view is shown that no longer has it, and [`Self::apply`] does the rest
    /// afterwards.
    pub fn join(&self, event: &PoolEvent) {
        let Happening::Whole(whole) = &event.0 else { return };
        let accounts = whole.accounts();
        let mut transactions: Vec<_> = whole.transactions.iter().collect();
        transactions.sort_unstable_by_key(|transaction| transaction.arrival());
        let mut contents = self.lock();
        for transaction in transactions {
            let account = accounts.get(&transaction.sender()).copied().unwrap_or_default();
            contents.take_in(transaction.clone(), &account);
        }
    }

    /// Does what another pool did. This one has the same settings and nothing of its own.
    ///
    /// The numbers of arrivals are this pool's. With a whole pool, those arrive that were not here before.
    pub fn apply(&self, event: PoolEvent) {
        match event.0 {
            Happening::Changes(changes) => {
                let mut contents = self.lock();
                for change in changes {
                    contents.apply(change);
                }
            }
            Happening::Whole(whole) => {
                let new = Contents::from_whole(self.config(), *whole);
                let mut contents = self.lock();
                contents.arrive(&new);
                let before = contents.replace(new, Happening::Whole);
                drop(contents);
                // Freed outside of the lock.
                drop(before);
            }
            Happening::Reset(whole) => {
                let new = Contents::from_whole(self.config(), *whole);
                let before = self.lock().replace(new, Happening::Reset);
                drop(before);
            }
        }
    }
}

impl Whole {
    fn accounts(&self) -> AddressMap<Account> {
        self.senders.iter().map(|sender| (sender.address, sender.account())).collect()
    }
}

impl Contents {
    pub(crate) fn whole(&self) -> Whole {
        let sender = |(address, queue): (&Address, &SenderQueue)| {
            let (nonce, balance) = queue.account();
            Sender { address: *address, nonce, balance }
        };
        Whole {
            base_fee: self.heads.base_fee(),
            blob_base_fee: self.blob_base_fee,
            next: self.next_arrival(),
            senders: self.senders.iter().map(sender).collect(),
            transactions: self.by_hash.values().cloned().collect(),
            departed: self.departed.iter().map(|(hash, fate)| Departure { hash, fate }).collect(),
        }
    }

    fn from_whole(config: &PoolConfig, whole: Whole) -> Self {
        let mut contents = Self::new(config.clone());
        contents.set_fees(whole.base_fee, whole.blob_base_fee);
        let accounts = whole.accounts();
        for transaction in whole.transactions {
            let account = accounts.get(&transaction.sender()).copied().unwrap_or_default();
            contents.take_in(transaction, &account);
        }
        for Departure { hash, fate } in whole.departed {
            contents.depart(hash, fate);
        }
        contents.number_from(whole.next);
        contents
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Insert { transaction, nonce, balance } => {
                self.take_in(transaction, &Account { nonce, balance, ..Account::default() });
            }
            Change::Remove { hash } => {
                self.remove(&hash);
            }
            Change::Account { sender, nonce, balance } => {
                self.set_account(sender, &Account { nonce, balance, ..Account::default() });
            }
            Change::Fees { base_fee, blob_base_fee } => self.set_fees(base_fee, blob_base_fee),
            Change::Depart { hash, fate } => self.depart(hash, fate),
        }
    }

    /// As admission does, nothing enters twice.
    fn take_in(&mut self, transaction: Arc<PooledTransaction>, account: &Account) {
        if !self.by_hash.contains_key(&transaction.hash()) {
            self.place(transaction, account);
        }
    }

    /// Counts those of `new` that are not here as arrived.
    fn arrive(&mut self, new: &Self) {
        let is_new = |one: &&Arc<PooledTransaction>| !self.by_hash.contains_key(&one.hash());
        let mut arrived: Vec<_> = new.by_hash.values().filter(is_new).collect();
        arrived.sort_unstable_by_key(|transaction| transaction.arrival());
        for transaction in arrived {
            self.arrived.push(transaction.transaction());
        }
    }
}
