//! Eviction when the pool is full.

use std::sync::Arc;

use foreseal_primitives::Account;

use crate::{
    contents::Contents,
    error::PoolError,
    eviction_order::EvictionOrder,
    priority_order::{Rank, Ranked},
    sender_queue::QueueEnds,
    status::{DropReason, Dropped},
    transaction::{CheckedTransaction, PooledTransaction},
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
    pub(crate) fn select_evictions(
        &mut self,
        incoming: &CheckedTransaction,
        account: &Account,
    ) -> Result<Vec<EvictionCandidate>, PoolError> {
        let replaced = self.replaced_transaction(incoming).cloned();
        let sender_tails = self.check_sender_limit(incoming, replaced.as_deref())?;
        let freed = || replaced.iter().chain(&sender_tails);
        let mut excess = Excess {
            count: (self.by_hash.len() + 1 - freed().count()).saturating_sub(self.config.max_transactions),
            bytes: (self.bytes + incoming.memory_size() - freed().map(|t| t.memory_size()).sum::<usize>())
                .saturating_sub(self.config.max_bytes),
        };
        let mut candidates: Vec<EvictionCandidate> =
            sender_tails.iter().map(|tail| (tail.clone(), DropReason::SenderFull)).collect();
        if excess.is_zero() {
            return Ok(candidates);
        }
        let (executable, queued) = self.ranked_tails();
        let mut plan = EvictionPlan { contents: self, executable, queued };
        for tail in &sender_tails {
            plan.remove_tail(tail);
        }
        let incoming_rank = self.incoming_rank(incoming, account);
        while !excess.is_zero() {
            let cheapest = plan.cheapest(incoming).filter(|(rank, _)| *rank < incoming_rank);
            let Some((_, tail)) = cheapest else {
                return Err(PoolError::PoolFull { limit: self.config.max_transactions });
            };
            plan.remove_tail(&tail);
            excess.count = excess.count.saturating_sub(1);
            excess.bytes = excess.bytes.saturating_sub(tail.memory_size());
            candidates.push((tail, DropReason::Evicted));
        }
        Ok(candidates)
    }

    /// Returns copies of the order of the tails under the base fee of the newest block: those that can run, then the
    /// others.
    fn ranked_tails(&mut self) -> (Ranked, Ranked) {
        let base_fee = self.executable_heads.base_fee();
        let tails = self.tails.get_or_insert_with(|| {
            let mut tails = EvictionOrder::new(base_fee);
            for queue in self.senders.values() {
                tails.update(&QueueEnds::default(), &queue.ends());
            }
            tails
        });
        tails.executable.set_base_fee(base_fee);
        tails.queued.set_base_fee(base_fee);
        (tails.executable.ranked(), tails.queued.ranked())
    }

    /// Drops the tails when the pool is far from full: maintaining their order costs as much as everything
    /// else.
    pub(crate) fn release_eviction_order(&mut self) {
        if self.by_hash.len() < self.config.max_transactions / 2 && self.bytes < self.config.max_bytes / 2 {
            self.tails = None;
        }
    }

    /// Removes a chosen transaction and records the reason.
    pub(crate) fn evict(&mut self, (transaction, reason): EvictionCandidate) -> Dropped {
        self.remove(&transaction.hash());
        self.record_dropped(transaction.hash(), reason)
    }

    /// Returns the sender's last transactions if they must leave, the last one first: a sender at its limits may still
    /// fill a gap, and replace.
    ///
    /// # Errors
    ///
    /// Returns `SenderFull` or `SenderBytes` if the sender is at a limit and has no later transaction to leave.
    fn check_sender_limit(
        &self,
        incoming: &CheckedTransaction,
        replaced: Option<&PooledTransaction>,
    ) -> Result<Vec<Arc<PooledTransaction>>, PoolError> {
        let (max_count, max_bytes) = (self.config.max_per_sender, self.config.max_sender_bytes());
        let mut leaving = Vec::new();
        let Some(queue) = self.senders.get(&incoming.sender()) else { return Ok(leaving) };
        let mut count = queue.all().len() + usize::from(replaced.is_none());
        let mut bytes = queue.bytes() + incoming.memory_size() - replaced.map_or(0, |old| old.memory_size());
        let mut later = queue.all().iter().rev().take_while(|t| incoming.nonce() < t.nonce());
        while count > max_count || bytes > max_bytes {
            let Some(tail) = later.next() else {
                return Err(if count > max_count {
                    PoolError::SenderFull { limit: max_count }
                } else {
                    PoolError::SenderBytes { size: bytes, limit: max_bytes }
                });
            };
            count -= 1;
            bytes -= tail.memory_size();
            leaving.push(tail.clone());
        }
        Ok(leaving)
    }

    fn incoming_rank(&self, incoming: &CheckedTransaction, account: &Account) -> (bool, Rank) {
        let cost = self.costs.cost(incoming);
        let is_executable = match self.senders.get(&incoming.sender()) {
            Some(queue) => queue.would_be_executable(incoming.nonce(), cost),
            None => incoming.nonce() == account.nonce && cost <= account.balance,
        };
        (is_executable, Rank::new(incoming.fees(), self.next_sequence(), self.executable_heads.base_fee()))
    }
}

/// Excess over the limits.
struct Excess {
    count: usize,
    bytes: usize,
}

impl Excess {
    fn is_zero(&self) -> bool {
        self.count == 0 && self.bytes == 0
    }
}

/// Repeatedly removes the cheapest tail.
///
/// Each removal exposes the transaction before it as its sender's tail, so no queue gets a gap in its middle.
/// The plan works on copies of the orders, so a failed plan changes nothing.
struct EvictionPlan<'a> {
    contents: &'a Contents,
    executable: Ranked,
    queued: Ranked,
}

impl EvictionPlan<'_> {
    /// Returns the cheapest tail. Tails that wait come before tails that can run.
    fn cheapest(&self, incoming: &CheckedTransaction) -> Option<((bool, Rank), Arc<PooledTransaction>)> {
        // Keep the newcomer's own predecessors: without them it would be behind a gap.
        let may_be_evicted = |(_, t): &(Rank, &Arc<PooledTransaction>)| {
            t.sender() != incoming.sender() || t.nonce() > incoming.nonce()
        };
        let waiting =
            self.queued.worst_first().find(may_be_evicted).map(|(rank, t)| ((false, rank), t.clone()));
        waiting.or_else(|| {
            self.executable.worst_first().find(may_be_evicted).map(|(rank, t)| ((true, rank), t.clone()))
        })
    }

    fn remove_tail(&mut self, tail: &Arc<PooledTransaction>) {
        // The tail is in one of the two; removal from the other has no effect.
        self.executable.remove(tail);
        self.queued.remove(tail);
        let queue = self.contents.senders.get(&tail.sender());
        if let Some((next, is_executable)) = queue.and_then(|queue| queue.predecessor(tail.nonce())) {
            (if is_executable { &mut self.executable } else { &mut self.queued }).insert(next.clone());
        }
    }
}
