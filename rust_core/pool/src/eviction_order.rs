//! The order in which a full pool evicts.

use std::sync::Arc;

use crate::{PooledTransaction, order::Order, queue::QueueEnds};

/// The last transaction of every sender: the candidates for eviction.
#[derive(Clone, Debug)]
pub(crate) struct EvictionOrder {
    /// EvictionOrder that can run; `waiting` has the others.
    pub(crate) running: Order,
    pub(crate) waiting: Order,
}

impl EvictionOrder {
    pub(crate) fn new(base_fee: u128) -> Self {
        Self { running: Order::new(base_fee), waiting: Order::new(base_fee) }
    }

    pub(crate) fn update(&mut self, before: &QueueEnds, after: &QueueEnds) {
        if before.tail_runs == after.tail_runs && same(before.tail.as_ref(), after.tail.as_ref()) {
            return;
        }
        if let Some(tail) = &before.tail {
            self.order(before.tail_runs).remove(tail);
        }
        if let Some(tail) = &after.tail {
            self.order(after.tail_runs).insert(tail.clone());
        }
    }

    fn order(&mut self, runs: bool) -> &mut Order {
        if runs { &mut self.running } else { &mut self.waiting }
    }
}

/// Returns `true` if both are the same transaction, or both are `None`.
pub(crate) fn same(a: Option<&Arc<PooledTransaction>>, b: Option<&Arc<PooledTransaction>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}
