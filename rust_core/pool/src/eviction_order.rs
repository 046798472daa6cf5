//! The order in which a full pool evicts.

use std::sync::Arc;

use crate::{priority_order::PriorityOrder, sender_queue::QueueEnds, transaction::PooledTransaction};

/// The last transaction of every sender: the candidates for eviction.
#[derive(Clone, Debug)]
pub(crate) struct EvictionOrder {
    /// Tails that can run; `queued` has the others.
    pub(crate) executable: PriorityOrder,
    pub(crate) queued: PriorityOrder,
}

impl EvictionOrder {
    pub(crate) fn new(base_fee: u128) -> Self {
        Self { executable: PriorityOrder::new(base_fee), queued: PriorityOrder::new(base_fee) }
    }

    pub(crate) fn update(&mut self, before: &QueueEnds, after: &QueueEnds) {
        if before.is_tail_executable == after.is_tail_executable
            && is_same_transaction(before.tail.as_ref(), after.tail.as_ref())
        {
            return;
        }
        if let Some(tail) = &before.tail {
            self.tails(before.is_tail_executable).remove(tail);
        }
        if let Some(tail) = &after.tail {
            self.tails(after.is_tail_executable).insert(tail.clone());
        }
    }

    fn tails(&mut self, is_executable: bool) -> &mut PriorityOrder {
        if is_executable { &mut self.executable } else { &mut self.queued }
    }
}

/// Returns `true` if both are the same transaction, or both are `None`.
pub(crate) fn is_same_transaction(
    a: Option<&Arc<PooledTransaction>>,
    b: Option<&Arc<PooledTransaction>>,
) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}
