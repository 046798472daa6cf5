//! Transactions by effective tip, in an order that is maintained while the base fee moves.
//!
//! Under a base fee `b` the effective tip is `min(tip, max_fee - b)`. A transaction's slack is
//! `max_fee - tip`. If `b` is at most the slack, the effective tip is `tip`, independent of `b`. Above the
//! slack it is `max_fee - b`, and transactions order by `max_fee`, independent of `b`. So two maps that are
//! never sorted again hold the whole order. When `b` moves, only the transactions whose slack it crosses
//! change maps:
//!
//! ```text
//!                 base fee <= slack            slack < base fee
//!   by_slack      by_tip: highest tip          by_max_fee: highest max fee
//!   (what moves)      \________ merged by effective tip, then arrival ________/
//! ```
//!
//! The two maps are persistent: a clone copies only a pointer.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use imbl::OrdMap;

use crate::{fees::Fees, transaction::PooledTransaction};

/// Sort key: highest fee first, then earliest arrival.
type OrderKey = (Reverse<u128>, u64);

/// Rank of a transaction under one base fee. The greater rank comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// `true` if the maximum fee covers the base fee.
    payable: bool,
    /// Effective tip, or the maximum fee when it does not cover the base fee.
    amount: u128,
    arrival: Reverse<u64>,
}

impl Rank {
    pub(crate) fn new(fees: &Fees, arrival: u64, base_fee: u128) -> Self {
        let tip = fees.effective_tip(base_fee);
        Self { payable: tip.is_some(), amount: tip.unwrap_or(fees.max_fee), arrival: Reverse(arrival) }
    }

    pub(crate) fn for_transaction(transaction: &PooledTransaction, base_fee: u128) -> Self {
        Self::new(transaction.fees(), transaction.arrival(), base_fee)
    }

    /// Returns the rank for a key of `by_tip`.
    fn from_tip((Reverse(tip), arrival): OrderKey) -> Self {
        Self { payable: true, amount: tip, arrival: Reverse(arrival) }
    }

    /// Returns the rank for a key of `by_max_fee`.
    fn from_max_fee((Reverse(max_fee), arrival): OrderKey, base_fee: u128) -> Self {
        // Any tip that is not paid in full gives the same rank.
        Self::new(&Fees { max_fee, tip: u128::MAX, blob_fee: None }, arrival, base_fee)
    }
}

/// A set of transactions in the order that the module describes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorityOrder {
    ranked: Ranked,
    by_slack: BTreeMap<(u128, u64), Arc<PooledTransaction>>,
}

impl PriorityOrder {
    pub(crate) fn new(base_fee: u128) -> Self {
        Self { ranked: Ranked { base_fee, ..Ranked::default() }, by_slack: BTreeMap::new() }
    }

    pub(crate) fn base_fee(&self) -> u128 {
        self.ranked.base_fee
    }

    /// Returns the current order; later changes do not affect it.
    pub(crate) fn ranked(&self) -> Ranked {
        self.ranked.clone()
    }

    pub(crate) fn insert(&mut self, transaction: Arc<PooledTransaction>) {
        self.by_slack.insert((slack(&transaction), transaction.arrival()), transaction.clone());
        self.ranked.insert(transaction);
    }

    pub(crate) fn remove(&mut self, transaction: &PooledTransaction) {
        self.by_slack.remove(&(slack(transaction), transaction.arrival()));
        self.ranked.remove(transaction);
    }

    /// Orders by another base fee. The cost depends only on the transactions that change maps.
    pub(crate) fn set_base_fee(&mut self, base_fee: u128) {
        let (low, high) = (self.base_fee().min(base_fee), self.base_fee().max(base_fee));
        let crossed: Vec<_> =
            self.by_slack.range((low, 0)..(high, 0)).map(|(_, transaction)| transaction.clone()).collect();
        for transaction in &crossed {
            self.ranked.remove(transaction);
        }
        self.ranked.base_fee = base_fee;
        for transaction in crossed {
            self.ranked.insert(transaction);
        }
    }
}

/// The two maps of the order under one base fee.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    base_fee: u128,
    by_tip: OrdMap<OrderKey, Arc<PooledTransaction>>,
    by_max_fee: OrdMap<OrderKey, Arc<PooledTransaction>>,
}

impl Ranked {
    pub(crate) fn insert(&mut self, transaction: Arc<PooledTransaction>) {
        let (map, key) = self.entry(&transaction);
        map.insert(key, transaction);
    }

    pub(crate) fn remove(&mut self, transaction: &PooledTransaction) {
        let (map, key) = self.entry(transaction);
        map.remove(&key);
    }

    /// Iterates over the transactions with their ranks, best first.
    pub(crate) fn into_best_first(self) -> impl Iterator<Item = (Rank, Arc<PooledTransaction>)> {
        let base_fee = self.base_fee;
        let mut by_tip = self.by_tip.into_iter().map(|(key, t)| (Rank::from_tip(key), t)).peekable();
        let mut by_max_fee = self
            .by_max_fee
            .into_iter()
            .map(move |(key, t)| (Rank::from_max_fee(key, base_fee), t))
            .peekable();
        std::iter::from_fn(move || {
            let tip = by_tip.peek().map(|(rank, _)| *rank);
            let max_fee = by_max_fee.peek().map(|(rank, _)| *rank);
            if tip >= max_fee { by_tip.next() } else { by_max_fee.next() }
        })
    }

    /// Iterates over the transactions with their ranks, worst first.
    pub(crate) fn worst_first(&self) -> impl Iterator<Item = (Rank, &Arc<PooledTransaction>)> {
        let by_tip = self.by_tip.iter().rev().map(|(key, t)| (Rank::from_tip(*key), t));
        let by_max_fee = self.by_max_fee.iter().rev();
        let by_max_fee = by_max_fee.map(|(key, t)| (Rank::from_max_fee(*key, self.base_fee), t));
        let (mut by_tip, mut by_max_fee) = (by_tip.peekable(), by_max_fee.peekable());
        std::iter::from_fn(move || match (by_tip.peek(), by_max_fee.peek()) {
            (Some((tip, _)), Some((max_fee, _))) if tip < max_fee => by_tip.next(),
            (Some(_), None) => by_tip.next(),
            _ => by_max_fee.next(),
        })
    }

    /// Returns the map for a transaction under the current base fee, and its key there.
    fn entry(
        &mut self,
        transaction: &PooledTransaction,
    ) -> (&mut OrdMap<OrderKey, Arc<PooledTransaction>>, OrderKey) {
        let (fees, arrival) = (transaction.fees(), transaction.arrival());
        if slack(transaction) >= self.base_fee {
            (&mut self.by_tip, (Reverse(fees.tip), arrival))
        } else {
            (&mut self.by_max_fee, (Reverse(fees.max_fee), arrival))
        }
    }
}

/// Returns the highest base fee under which the full tip is paid.
fn slack(transaction: &PooledTransaction) -> u128 {
    // Admission rejects a tip above the maximum fee.
    transaction.fees().max_fee.saturating_sub(transaction.fees().tip)
}
