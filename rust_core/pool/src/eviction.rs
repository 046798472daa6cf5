//! Eviction when the pool is full.

use std::sync::Arc;

use foreseal_primitives::{Account, mutant};

use crate::{
    DropReason, Dropped, PoolError, PooledTransaction, Submission,
    contents::Contents,
    eviction_order::EvictionOrder,
    order::{Rank, Ranked},
    queue::QueueEnds,
};

/// A transaction chosen for eviction, with the reason.
pub(crate) type EvictionCandidate = (Arc<PooledTransaction>, DropReason);

impl Contents {
    /// Chooses the transactions to evict so that the limits hold with the newcomer.
    ///
    /// # Errors
    ///
    /// Returns an error if the sender is at its limit, or if too few transactions are cheaper than the
    /// newcomer.
    pub(crate) fn room_for(
        &mut self,
        newcomer: &Submission,
        account: &Account,
    ) -> Result<Vec<EvictionCandidate>, PoolError> {
        let rival = self.rival(newcomer).cloned();
        let own_tail = if rival.is_none() { self.room_at_sender(newcomer)? } else { None };
        let freed = rival.as_ref().or(own_tail.as_ref());
        let mut need = Excess {
            count: (self.by_hash.len() + 1 - usize::from(freed.is_some()))
                .saturating_sub(self.config.max_transactions),
            bytes: (self.bytes + newcomer.size() - freed.map_or(0, |t| t.size()))
                .saturating_sub(self.config.max_bytes),
        };
        let mut leaving: Vec<EvictionCandidate> =
            own_tail.clone().map(|tail| (tail, DropReason::SenderFull)).into_iter().collect();
        if need.is_met() || mutant!("skip-pool-limit") {
            return Ok(leaving);
        }
        let (running, waiting) = self.tails_by_price();
        let mut plan = Plan { contents: self, running, waiting };
        if let Some(tail) = &own_tail {
            plan.evict(tail);
        }
        let newcomer_rank = self.rank_of_newcomer(newcomer, account);
        while !need.is_met() {
            let cheapest = plan.cheapest(newcomer).filter(|(rank, _)| *rank < newcomer_rank);
            let Some((_, tail)) = cheapest else {
                return Err(PoolError::PoolFull { limit: self.config.max_transactions });
            };
            plan.evict(&tail);
            need.count = need.count.saturating_sub(1);
            need.bytes = need.bytes.saturating_sub(tail.size());
            leaving.push((tail, DropReason::Evicted));
        }
        Ok(leaving)
    }

    /// Returns snapshots of the tails under the base fee of the newest block: those that can run, then the
    /// others.
    fn tails_by_price(&mut self) -> (Ranked, Ranked) {
        let base_fee = self.heads.base_fee();
        let tails = self.tails.get_or_insert_with(|| {
            let mut tails = EvictionOrder::new(base_fee);
            for queue in self.senders.values() {
                tails.update(&QueueEnds::default(), &queue.ends());
            }
            tails
        });
        tails.running.set_base_fee(base_fee);
        tails.waiting.set_base_fee(base_fee);
        (tails.running.snapshot(), tails.waiting.snapshot())
    }

    /// Drops the tails when the pool is far from full: maintaining their order costs as much as everything
    /// else.
    pub(crate) fn rest(&mut self) {
        if self.by_hash.len() < self.config.max_transactions / 2 && self.bytes < self.config.max_bytes / 2 {
            self.tails = None;
        }
    }

    /// Removes a chosen transaction and records the reason.
    pub(crate) fn evict(&mut self, (transaction, reason): EvictionCandidate) -> Dropped {
        self.remove(&transaction.hash());
        self.record(transaction.hash(), reason)
    }

    /// Returns the sender's last transaction if it must leave: a sender at its limit may still fill a gap.
    ///
    /// # Errors
    ///
    /// Returns `SenderFull` if the sender is at its limit and the newcomer would be its last transaction.
    fn room_at_sender(&self, newcomer: &Submission) -> Result<Option<Arc<PooledTransaction>>, PoolError> {
        let limit = self.config.max_per_sender;
        let Some(queue) = self.senders.get(&newcomer.sender()) else { return Ok(None) };
        match queue.all().last() {
            Some(_) if queue.all().len() < limit || mutant!("skip-sender-limit") => Ok(None),
            Some(tail) if newcomer.nonce() < tail.nonce() => Ok(Some(tail.clone())),
            _ => Err(PoolError::SenderFull { limit }),
        }
    }

    fn rank_of_newcomer(&self, newcomer: &Submission, account: &Account) -> (bool, Rank) {
        let runs = match self.senders.get(&newcomer.sender()) {
            Some(queue) => queue.would_run(newcomer.nonce(), newcomer.cost()),
            None => newcomer.nonce() == account.nonce && newcomer.cost() <= account.balance,
        };
        (runs, Rank::new(newcomer.fees(), self.next_arrival(), self.heads.base_fee()))
    }
}

/// Excess over the limits.
struct Excess {
    count: usize,
    bytes: usize,
}

impl Excess {
    fn is_met(&self) -> bool {
        self.count == 0 && self.bytes == 0
    }
}

/// Repeatedly removes the cheapest tail.
///
/// Each removal exposes the transaction before it as its sender's tail, so no queue gets a gap in its middle.
/// The plan works on snapshots of the orders, so a failed plan changes nothing.
struct Plan<'a> {
    contents: &'a Contents,
    running: Ranked,
    waiting: Ranked,
}

impl Plan<'_> {
    /// Returns the cheapest tail. Tails that wait come before tails that can run.
    fn cheapest(&self, newcomer: &Submission) -> Option<((bool, Rank), Arc<PooledTransaction>)> {
        // Keep the newcomer's own predecessors: without them it would be behind a gap.
        let may_go = |(_, t): &(Rank, &Arc<PooledTransaction>)| {
            t.sender() != newcomer.sender() || t.nonce() > newcomer.nonce()
        };
        let waiting = self.waiting.worst_first().find(may_go).map(|(rank, t)| ((false, rank), t.clone()));
        waiting.or_else(|| self.running.worst_first().find(may_go).map(|(rank, t)| ((true, rank), t.clone())))
    }

    fn evict(&mut self, tail: &Arc<PooledTransaction>) {
        // The tail is in one of the two; removal from the other has no effect.
        self.running.remove(tail);
        self.waiting.remove(tail);
        let queue = self.contents.senders.get(&tail.sender());
        if let Some((next, runs)) = queue.and_then(|queue| queue.before(tail.nonce())) {
            (if runs { &mut self.running } else { &mut self.waiting }).insert(next.clone());
        }
    }
}
