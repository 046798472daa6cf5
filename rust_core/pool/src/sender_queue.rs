//! One sender's transactions in nonce order.

use std::sync::Arc;

use alloy_primitives::U256;
use foreseal_primitives::Account;

use crate::{
    costs::{CostRules, PriceRange},
    status::QueuedReason,
    transaction::PooledTransaction,
};

/// Transactions of one sender by nonce, and the sender's account as last recorded.
///
/// ```text
///   account nonce 5:   5 6 7 | 9 10
///                      run   | behind the gap at 8
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct SenderQueue {
    nonce: u64,
    balance: U256,
    /// Ascending by nonce, one per nonce. None is below `nonce`, except between an unwind and
    /// [`Self::set_account`].
    transactions: Vec<Arc<PooledTransaction>>,
    /// Total size of the transactions.
    bytes: usize,
    /// Number of transactions at the front that can run one after the other.
    ///
    /// They start at the account's nonce and have no gap, and the balance covers each one alone.
    executable_count: usize,
    /// Prices of data on L1 for which `executable_count` is right.
    prices: PriceRange,
}

impl SenderQueue {
    pub(crate) fn new(account: &Account) -> Self {
        Self { nonce: account.nonce, balance: account.balance, ..Self::default() }
    }

    /// Returns nonce and balance as last recorded.
    pub(crate) fn account(&self) -> (u64, U256) {
        (self.nonce, self.balance)
    }

    /// Returns the total size of the transactions in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn all(&self) -> &[Arc<PooledTransaction>] {
        &self.transactions
    }

    pub(crate) fn executable(&self) -> &[Arc<PooledTransaction>] {
        &self.transactions[..self.executable_count]
    }

    pub(crate) fn queued(&self) -> &[Arc<PooledTransaction>] {
        &self.transactions[self.executable_count..]
    }

    pub(crate) fn get(&self, nonce: u64) -> Option<&Arc<PooledTransaction>> {
        self.position(nonce).ok().map(|at| &self.transactions[at])
    }

    /// Returns the transaction that can run with `nonce`.
    pub(crate) fn executable_at(&self, nonce: u64) -> Option<&Arc<PooledTransaction>> {
        // Runnable transactions have consecutive nonces, beginning with the account's nonce.
        let at = nonce.checked_sub(self.nonce)?;
        self.executable().get(usize::try_from(at).ok()?)
    }

    /// Returns the transaction before the one with `nonce`, and `true` if it can run.
    pub(crate) fn predecessor(&self, nonce: u64) -> Option<(&Arc<PooledTransaction>, bool)> {
        let at = self.transactions.partition_point(|t| t.nonce() < nonce).checked_sub(1)?;
        Some((&self.transactions[at], at < self.executable_count))
    }

    /// Returns `true` if a transaction with this nonce and cost could run once added.
    pub(crate) fn would_be_executable(&self, nonce: u64, cost: U256) -> bool {
        let in_reach = match self.position(nonce) {
            Ok(at) => at < self.executable_count,
            Err(at) => at == self.executable_count && nonce.checked_sub(self.nonce) == Some(at as u64),
        };
        in_reach && cost <= self.balance
    }

    /// Returns the first free nonce at or after `nonce`.
    pub(crate) fn next_nonce(&self, nonce: u64) -> u64 {
        let from = &self.transactions[self.transactions.partition_point(|t| t.nonce() < nonce)..];
        // Nonces strictly ascend, so the consecutive ones are a prefix: there, the distance to `nonce` equals
        // the position.
        let (mut low, mut high) = (0, from.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if from[middle].nonce() - nonce == middle as u64 { low = middle + 1 } else { high = middle }
        }
        nonce + low as u64
    }

    /// Adds a transaction. Replaces and returns the one with the same nonce.
    pub(crate) fn insert(
        &mut self,
        transaction: Arc<PooledTransaction>,
        costs: &CostRules,
    ) -> Option<Arc<PooledTransaction>> {
        self.bytes += transaction.memory_size();
        match self.position(transaction.nonce()) {
            Ok(at) => {
                let replaced = std::mem::replace(&mut self.transactions[at], transaction);
                self.bytes -= replaced.memory_size();
                self.executable_count = self.executable_count.min(at);
                self.extend_executable(costs);
                Some(replaced)
            }
            Err(at) => {
                self.transactions.insert(at, transaction);
                self.executable_count = self.executable_count.min(at);
                self.extend_executable(costs);
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, nonce: u64) -> Option<Arc<PooledTransaction>> {
        let at = self.position(nonce).ok()?;
        self.executable_count = self.executable_count.min(at);
        let removed = self.transactions.remove(at);
        self.bytes -= removed.memory_size();
        Some(removed)
    }

    /// Updates the account. Removes and returns the transactions whose nonce is used up.
    pub(crate) fn set_account(
        &mut self,
        account: &Account,
        costs: &CostRules,
    ) -> Vec<Arc<PooledTransaction>> {
        (self.nonce, self.balance) = (account.nonce, account.balance);
        let stale = self.transactions.partition_point(|t| t.nonce() < account.nonce);
        let used_up: Vec<_> = self.transactions.drain(..stale).collect();
        self.bytes -= used_up.iter().map(|t| t.memory_size()).sum::<usize>();
        self.recount_executable(costs);
        used_up
    }

    /// Returns `true` if these costs may change which transactions can run. The operator fee must be the same as
    /// before.
    pub(crate) fn depends_on(&self, costs: &CostRules) -> bool {
        costs.l1.is_some_and(|fees| !self.prices.contains(fees.data_price()))
    }

    /// Evaluates anew which transactions can run.
    pub(crate) fn recount_executable(&mut self, costs: &CostRules) {
        self.executable_count = 0;
        self.prices = PriceRange::default();
        self.extend_executable(costs);
    }

    /// Returns the reason why the transaction with `nonce` cannot run; `None` if it can, fees aside.
    pub(crate) fn queued_reason(&self, nonce: u64, costs: &CostRules) -> Option<QueuedReason> {
        let first = self.queued().first()?;
        if nonce < first.nonce() {
            return None;
        }
        let expected = self.nonce + self.executable_count as u64;
        Some(if first.nonce() != expected {
            QueuedReason::NonceGap { expected }
        } else if first.nonce() == nonce {
            QueuedReason::Funds { balance: self.balance, cost: costs.cost(first) }
        } else {
            QueuedReason::Predecessor { nonce: first.nonce() }
        })
    }

    fn extend_executable(&mut self, costs: &CostRules) {
        self.prices.begin();
        while let Some(next) = self.transactions.get(self.executable_count)
            && next.nonce().checked_sub(self.nonce) == Some(self.executable_count as u64)
            && self.prices.covers(costs, next, self.balance)
        {
            self.executable_count += 1;
        }
    }

    fn position(&self, nonce: u64) -> Result<usize, usize> {
        self.transactions.binary_search_by_key(&nonce, |t| t.nonce())
    }

    /// Returns the ends of the queue, for the orders of the pool.
    pub(crate) fn ends(&self) -> QueueEnds {
        QueueEnds {
            head: self.executable().first().cloned(),
            tail: self.transactions.last().cloned(),
            is_tail_executable: self.executable_count == self.transactions.len(),
            executable_count: self.executable_count,
        }
    }
}

/// Ends of a queue: the next transaction to run, and the first to be evicted.
#[derive(Debug, Default)]
pub(crate) struct QueueEnds {
    pub(crate) head: Option<Arc<PooledTransaction>>,
    pub(crate) tail: Option<Arc<PooledTransaction>>,
    pub(crate) is_tail_executable: bool,
    pub(crate) executable_count: usize,
}
