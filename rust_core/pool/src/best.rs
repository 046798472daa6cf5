//! The transactions of the next step, best first.

use std::{
    collections::{BinaryHeap, VecDeque},
    sync::Arc,
};

use crate::{
    Pool, PooledTransaction,
    order::{Rank, Ranked},
};

type Heads = Box<dyn Iterator<Item = (Rank, Arc<PooledTransaction>)> + Send>;

/// Transactions by effective tip, then arrival; each sender's in nonce order.
///
/// The iterator starts from a snapshot of the senders' first transactions and reads each sender's later ones
/// one at a time. So it locks the pool only briefly, and submissions continue meanwhile. It skips a sender
/// from the first transaction on that does not cover the base fee or the blob base fee.
pub struct Best<'a> {
    pool: &'a Pool,
    base_fee: u128,
    blob_base_fee: u128,
    heads: Heads,
    /// Heads that [`Self::upcoming`] read before their turn.
    ahead: VecDeque<(Rank, Arc<PooledTransaction>)>,
    /// Next transactions of senders whose earlier ones were already returned.
    followers: BinaryHeap<Follower>,
    /// The last transaction returned. Its sender's next one follows unless the sender is skipped.
    last: Option<Arc<PooledTransaction>>,
}

impl Pool {
    /// Returns the transactions for a step in a block with these base fees (wei per gas, wei per blob gas;
    /// zero if the block has none).
    pub fn best(&self, base_fee: u64, blob_base_fee: u128) -> Best<'_> {
        let base_fee = u128::from(base_fee);
        let heads = {
            let mut contents = self.lock();
            contents.set_fees(base_fee, blob_base_fee);
            contents.heads.snapshot()
        };
        Best::new(self, heads, base_fee, blob_base_fee)
    }
}

impl<'a> Best<'a> {
    fn new(pool: &'a Pool, heads: Ranked, base_fee: u128, blob_base_fee: u128) -> Self {
        let heads: Heads = Box::new(heads.into_best_first());
        let followers = BinaryHeap::new();
        Self { pool, base_fee, blob_base_fee, heads, ahead: VecDeque::new(), followers, last: None }
    }

    /// Returns up to `count` first transactions of the next senders, so that the caller can prefetch their
    /// state.
    ///
    /// The iterator may never return some of them.
    pub fn upcoming(&mut self, count: usize) -> impl Iterator<Item = &PooledTransaction> {
        let missing = count.saturating_sub(self.ahead.len());
        self.ahead.extend(self.heads.by_ref().take(missing));
        self.ahead.iter().take(count).map(|(_, head)| &**head)
    }

    /// Skips the remaining transactions of the last sender: the last one did not fit, so its successors
    /// cannot run.
    pub fn skip_sender(&mut self) {
        self.last = None;
    }

    fn follow_last(&mut self) {
        let Some(last) = self.last.take() else { return };
        if let Some(next) = self.pool.runnable_after(last.sender(), last.nonce())
            && self.pays(&next)
        {
            self.followers.push(Follower { rank: Rank::of(&next, self.base_fee), transaction: next });
        }
    }

    fn pays(&self, transaction: &PooledTransaction) -> bool {
        transaction.fees().cover(self.base_fee, self.blob_base_fee)
    }
}

impl Iterator for Best<'_> {
    type Item = Arc<PooledTransaction>;

    fn next(&mut self) -> Option<Self::Item> {
        self.follow_last();
        loop {
            if self.ahead.is_empty() {
                self.ahead.extend(self.heads.next());
            }
            let head = self.ahead.front().map(|(rank, _)| *rank);
            let follower = self.followers.peek().map(|follower| follower.rank);
            let next = if head >= follower {
                let (_, head) = self.ahead.pop_front()?;
                if !self.pays(&head) {
                    continue;
                }
                head
            } else {
                self.followers.pop()?.transaction
            };
            self.last = Some(next.clone());
            return Some(next);
        }
    }
}

/// A sender's next transaction, ordered by rank.
struct Follower {
    rank: Rank,
    transaction: Arc<PooledTransaction>,
}

impl PartialEq for Follower {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Follower {}

impl PartialOrd for Follower {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Follower {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}
