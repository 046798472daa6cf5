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

/// Transactions by effective tip, then arrival, each sender's in nonce order.
///
/// Starts from a snapshot of the senders' first transactions; a sender's later ones are looked up one at a time, so the
/// pool is locked for moments only and submissions go on meanwhile. A sender whose next transaction does not pay the
/// base fee or the blob base fee is left out from there on.
pub struct Best<'a> {
    pool: &'a Pool,
    base_fee: u128,
    blob_base_fee: u128,
    heads: Heads,
    /// Heads that were looked at ahead of their turn.
    ahead: VecDeque<(Rank, Arc<PooledTransaction>)>,
    /// Later transactions of senders whose earlier ones are taken.
    followers: BinaryHeap<Follower>,
    /// The last one given out, whose sender goes on unless it is skipped.
    last: Option<Arc<PooledTransaction>>,
}

impl<'a> Best<'a> {
    pub(crate) fn new(pool: &'a Pool, heads: Ranked, base_fee: u128, blob_base_fee: u128) -> Self {
        let heads: Heads = Box::new(heads.into_best_first());
        let followers = BinaryHeap::new();
        Self { pool, base_fee, blob_base_fee, heads, ahead: VecDeque::new(), followers, last: None }
    }

    /// The first transactions of the next senders, up to `count`, so that what they need can be read early. Some of them
    /// may not be given out after all.
    pub fn upcoming(&mut self, count: usize) -> impl Iterator<Item = &PooledTransaction> {
        let missing = count.saturating_sub(self.ahead.len());
        self.ahead.extend(self.heads.by_ref().take(missing));
        self.ahead.iter().take(count).map(|(_, head)| &**head)
    }

    /// Leaves out the rest of the sender of the last transaction: it did not fit, so what follows cannot run either.
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

/// Ordered by rank.
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
