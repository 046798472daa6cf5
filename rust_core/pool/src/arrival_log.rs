//! Order in which transactions entered the pool, for readers that poll it.

use std::{collections::VecDeque, sync::Arc};

use alloy_primitives::B256;
use foreseal_primitives::Transaction;

use crate::config::PoolConfig;

/// Hashes of the most recent arrivals. An arrival stays listed after its transaction has left the pool.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalLog {
    hashes: VecDeque<B256>,
    /// Number of the next arrival. It never decreases, not even when the pool is reset.
    next: u64,
    /// Maximum number of hashes, and of complete transactions.
    capacity: usize,
    /// Maximum size of the complete transactions (bytes).
    max_bytes: usize,
    /// Complete transactions of the most recent arrivals; `None` while no consumer needs them.
    full_transactions: Option<RecentTransactions>,
}

/// Complete transactions of the most recent arrivals, up to the newest.
#[derive(Clone, Debug, Default)]
struct RecentTransactions {
    transactions: VecDeque<Arc<Transaction>>,
    bytes: usize,
}

impl RecentTransactions {
    fn push(&mut self, transaction: Arc<Transaction>, capacity: usize, max_bytes: usize) {
        self.bytes += transaction.encoded().len();
        self.transactions.push_back(transaction);
        while self.bytes > max_bytes || self.transactions.len() > capacity {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(oldest) = self.transactions.pop_front() {
            self.bytes -= oldest.encoded().len();
        }
    }
}

/// Arrivals from a given number on: their hashes or the complete transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingLogPage<T = B256> {
    pub transactions: Vec<T>,
    /// Number of the arrival that follows `transactions`.
    pub next: u64,
    /// Number of requested arrivals that are no longer retained.
    pub missed: u64,
}

impl ArrivalLog {
    pub fn new(config: &PoolConfig) -> Self {
        let (capacity, max_bytes) = (config.max_pending_log, config.max_pending_log_bytes);
        Self { hashes: VecDeque::new(), next: 0, capacity, max_bytes, full_transactions: None }
    }

    pub fn push(&mut self, transaction: &Arc<Transaction>) {
        if let Some(recent) = &mut self.full_transactions {
            recent.push(transaction.clone(), self.capacity, self.max_bytes);
        }
        // Pop before the push: a full ring that grows would double its memory.
        while self.hashes.len() >= self.capacity.max(1) {
            self.hashes.pop_front();
        }
        self.hashes.push_back(transaction.hash());
        self.next += 1;
    }

    /// Starts or stops retaining complete transactions for [`Self::full_transactions_since`].
    pub fn set_full_transactions(&mut self, enabled: bool) {
        match (enabled, &self.full_transactions) {
            (true, None) => self.full_transactions = Some(RecentTransactions::default()),
            (true, Some(_)) => {}
            (false, _) => self.full_transactions = None,
        }
    }

    /// Returns the retained transactions from number `from` on and drops the earlier ones.
    pub fn full_transactions_since(&mut self, from: u64) -> PendingLogPage<Arc<Transaction>> {
        let next = self.next;
        let Some(recent) = &mut self.full_transactions else {
            return PendingLogPage { transactions: Vec::new(), next, missed: next.saturating_sub(from) };
        };
        let oldest = next - recent.transactions.len() as u64;
        for _ in oldest..from.min(next) {
            recent.pop();
        }
        let transactions = recent.transactions.iter().cloned().collect();
        PendingLogPage { transactions, next, missed: oldest.saturating_sub(from) }
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns at most `limit` arrivals, starting at number `from` or at the oldest retained arrival.
    pub fn since(&self, from: u64, limit: usize) -> PendingLogPage {
        let oldest = self.next.saturating_sub(self.hashes.len() as u64);
        let first = from.clamp(oldest, self.next);
        let skip = usize::try_from(first - oldest).unwrap_or(usize::MAX);
        let transactions: Vec<B256> = self.hashes.iter().skip(skip).take(limit).copied().collect();
        let next = first + transactions.len() as u64;
        PendingLogPage { transactions, next, missed: oldest.saturating_sub(from) }
    }
}

#[cfg(test)]
mod tests {
    use foreseal_testkit::{Fees, Wallet};

    use super::*;

    fn transactions(count: u64) -> Vec<Arc<Transaction>> {
        let wallet = Wallet::numbered(0);
        let transfer = |nonce| wallet.transfer(nonce, wallet.address, 1, Fees::default());
        (0..count).map(|nonce| Arc::new(Transaction::decode(&transfer(nonce)).unwrap())).collect()
    }

    /// Retains four arrivals.
    fn few() -> ArrivalLog {
        ArrivalLog::new(&PoolConfig { max_pending_log: 4, ..PoolConfig::default() })
    }

    fn arrived<T: Clone>(transactions: &[T], next: u64, missed: u64) -> PendingLogPage<T> {
        PendingLogPage { transactions: transactions.to_vec(), next, missed }
    }

    #[test]
    fn full_ring_does_not_grow() {
        let mut arrivals = few();
        for transaction in &transactions(20) {
            arrivals.push(transaction);
        }
        assert_eq!((arrivals.hashes.len(), arrivals.hashes.capacity()), (4, 4));
    }

    #[test]
    fn arrivals_are_returned_in_order_and_evicted_ones_counted() {
        let mut arrivals = few();
        assert_eq!(arrivals.since(0, 9), arrived(&[], 0, 0));
        let all = transactions(6);
        let hashes: Vec<B256> = all.iter().map(|transaction| transaction.hash()).collect();
        for transaction in &all {
            arrivals.push(transaction);
        }
        assert_eq!(arrivals.next(), 6);
        assert_eq!(arrivals.since(3, 9), arrived(&hashes[3..6], 6, 0));
        assert_eq!(arrivals.since(3, 2), arrived(&hashes[3..5], 5, 0));
        assert_eq!(arrivals.since(0, 9), arrived(&hashes[2..6], 6, 2));
        assert_eq!(arrivals.since(6, 9), arrived(&[], 6, 0));
        assert_eq!(arrivals.since(u64::MAX, 9), arrived(&[], 6, 0));
    }

    #[test]
    fn transactions_are_retained_while_wanted_and_until_read() {
        let all = transactions(12);
        let mut arrivals = few();
        arrivals.push(&all[0]);
        assert_eq!(arrivals.full_transactions_since(0), arrived(&[], 1, 1), "nobody wanted them");
        arrivals.set_full_transactions(true);
        arrivals.push(&all[1]);
        arrivals.set_full_transactions(true);
        arrivals.push(&all[2]);
        assert_eq!(arrivals.full_transactions_since(1), arrived(&all[1..3], 3, 0));
        assert_eq!(arrivals.full_transactions_since(2), arrived(&all[2..3], 3, 0));
        assert_eq!(
            arrivals.full_transactions_since(1),
            arrived(&all[2..3], 3, 1),
            "what was before the last look is gone"
        );
        assert_eq!(arrivals.full_transactions_since(u64::MAX), arrived(&[], 3, 0));
        for transaction in &all[3..9] {
            arrivals.push(transaction);
        }
        assert_eq!(
            arrivals.full_transactions_since(3),
            arrived(&all[5..9], 9, 2),
            "the oldest are forgotten, and counted"
        );
        arrivals.push(&all[9]);
        arrivals.set_full_transactions(false);
        arrivals.push(&all[10]);
        assert_eq!(arrivals.full_transactions_since(9), arrived(&[], 11, 2));
    }

    #[test]
    fn retained_transactions_are_bounded_in_bytes() {
        let all = transactions(3);
        let size = all[0].encoded().len();
        let mut arrivals =
            ArrivalLog::new(&PoolConfig { max_pending_log_bytes: 2 * size, ..PoolConfig::default() });
        arrivals.set_full_transactions(true);
        for transaction in &all {
            arrivals.push(transaction);
        }
        assert_eq!(arrivals.full_transactions_since(0), arrived(&all[1..], 3, 1));
    }
}
