//! The transactions of the next step, best first.

use std::{
    collections::{BinaryHeap, VecDeque},
    sync::Arc,
};

use crate::{
    pool::Pool,
    priority_order::{Rank, Ranked},
    transaction::PooledTransaction,
};

type Heads = Box<dyn Iterator<Item = (Rank, Arc<PooledTransaction>)> + Send>;

/// Transactions by effective tip, then arrival; each sender's in nonce order.
///
/// The iterator starts from a copy of the order of the senders' first transactions and reads each sender's later ones
/// one at a time. So it locks the pool only briefly, and submissions continue meanwhile. The builder holds what it
/// selects ([`Self::next_held`]); readers iterate. The iterator skips a sender from the first transaction on that does
/// not cover the base fee or the blob base fee.
pub struct BestTransactions<'a> {
    pool: &'a Pool,
    base_fee: u128,
    blob_base_fee: u128,
    heads: Heads,
    /// Heads that [`Self::upcoming`] read before their turn.
    upcoming: VecDeque<(Rank, Arc<PooledTransaction>)>,
    /// Next transactions of senders whose earlier ones were already returned.
    successors: BinaryHeap<SenderSuccessor>,
    /// The last transaction returned. Its sender's next one follows unless the sender is skipped.
    last: Option<Arc<PooledTransaction>>,
}

impl Pool {
    /// Returns the transactions for a step in a block with these base fees (wei per gas, wei per blob gas;
    /// zero if the block has none).
    pub fn best(&self, base_fee: u64, blob_base_fee: u128) -> BestTransactions<'_> {
        let base_fee = u128::from(base_fee);
        let heads = {
            let mut contents = self.lock();
            contents.set_fees(base_fee, blob_base_fee);
            contents.executable_heads.ranked()
        };
        BestTransactions::new(self, heads, base_fee, blob_base_fee)
    }
}

impl<'a> BestTransactions<'a> {
    fn new(pool: &'a Pool, heads: Ranked, base_fee: u128, blob_base_fee: u128) -> Self {
        let heads: Heads = Box::new(heads.into_best_first());
        let successors = BinaryHeap::new();
        Self { pool, base_fee, blob_base_fee, heads, upcoming: VecDeque::new(), successors, last: None }
    }

    /// Returns up to `count` first transactions of the next senders, so that the caller can prefetch their
    /// state.
    ///
    /// The iterator may never return some of them.
    pub fn upcoming(&mut self, count: usize) -> impl Iterator<Item = &PooledTransaction> {
        let missing = count.saturating_sub(self.upcoming.len());
        self.upcoming.extend(self.heads.by_ref().take(missing));
        self.upcoming.iter().take(count).map(|(_, head)| &**head)
    }

    /// Returns the next transaction like [`Iterator::next`], as it is in the pool now, and holds it
    /// ([`Pool::hold`]). One that was replaced since the iterator began is returned in its new form.
    pub fn next_held(&mut self) -> Option<Arc<PooledTransaction>> {
        loop {
            let selected = self.next()?;
            let mut contents = self.pool.lock();
            let queue = contents.senders.get(&selected.sender());
            let current = queue.and_then(|queue| queue.executable_at(selected.nonce()));
            if let Some(current) = current.filter(|current| self.covers_fees(current)).cloned() {
                contents.held.insert(current.hash());
                self.last = Some(current.clone());
                return Some(current);
            }
            drop(contents);
            self.skip_sender();
        }
    }

    /// Releases the last transaction, which the step will not include, and skips its sender.
    pub fn release_and_skip_sender(&mut self) {
        if let Some(last) = self.last.take() {
            self.pool.lock().held.remove(&last.hash());
        }
    }

    /// Skips the remaining transactions of the last sender: the last one did not fit, so its successors
    /// cannot run.
    pub fn skip_sender(&mut self) {
        self.last = None;
    }

    fn push_successor(&mut self) {
        let Some(last) = self.last.take() else { return };
        if let Some(nonce) = last.nonce().checked_add(1)
            && let Some(next) = self.pool.executable_at(last.sender(), nonce)
            && self.covers_fees(&next)
        {
            self.successors.push(SenderSuccessor {
                rank: Rank::for_transaction(&next, self.base_fee),
                transaction: next,
            });
        }
    }

    fn covers_fees(&self, transaction: &PooledTransaction) -> bool {
        transaction.fees().covers(self.base_fee, self.blob_base_fee)
    }
}

impl Iterator for BestTransactions<'_> {
    type Item = Arc<PooledTransaction>;

    fn next(&mut self) -> Option<Self::Item> {
        self.push_successor();
        loop {
            if self.upcoming.is_empty() {
                self.upcoming.extend(self.heads.next());
            }
            let head = self.upcoming.front().map(|(rank, _)| *rank);
            let successor = self.successors.peek().map(|successor| successor.rank);
            let next = if head >= successor {
                let (_, head) = self.upcoming.pop_front()?;
                if !self.covers_fees(&head) {
                    continue;
                }
                head
            } else {
                self.successors.pop()?.transaction
            };
            self.last = Some(next.clone());
            return Some(next);
        }
    }
}

/// A sender's next transaction, ordered by rank.
struct SenderSuccessor {
    rank: Rank,
    transaction: Arc<PooledTransaction>,
}

impl PartialEq for SenderSuccessor {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for SenderSuccessor {}

impl PartialOrd for SenderSuccessor {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SenderSuccessor {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}
