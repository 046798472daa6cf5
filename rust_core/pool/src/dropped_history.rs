//! Bounded history of transactions that left the pool without being included.

use std::collections::VecDeque;

use alloy_primitives::{B256, map::B256HashMap};

use crate::status::Status;

/// The most recent transactions that left, each with its final status. The oldest entry is evicted first.
#[derive(Clone, Debug)]
pub(crate) struct DroppedHistory {
    limit: usize,
    order: VecDeque<B256>,
    statuses: B256HashMap<Status>,
}

impl DroppedHistory {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, order: VecDeque::new(), statuses: B256HashMap::default() }
    }

    pub(crate) fn record(&mut self, hash: B256, status: Status) {
        if self.limit == 0 {
            return;
        }
        if self.statuses.insert(hash, status).is_some() {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > self.limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.statuses.remove(&oldest);
        }
    }

    /// Iterates over the entries, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (B256, Status)> {
        self.order.iter().filter_map(|hash| Some((*hash, self.statuses.get(hash)?.clone())))
    }

    pub(crate) fn get(&self, hash: &B256) -> Option<&Status> {
        self.statuses.get(hash)
    }
}
