//! Memory of the transactions that left.

use std::collections::VecDeque;

use alloy_primitives::{B256, map::B256HashMap};
use foreseal_types::mutant;

use crate::Status;

/// The last departed transactions and what became of them; the oldest is forgotten first.
#[derive(Clone, Debug)]
pub(crate) struct Departed {
    limit: usize,
    order: VecDeque<B256>,
    fates: B256HashMap<Status>,
}

impl Departed {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, order: VecDeque::new(), fates: B256HashMap::default() }
    }

    pub(crate) fn record(&mut self, hash: B256, fate: Status) {
        if self.limit == 0 {
            return;
        }
        if self.fates.insert(hash, fate).is_some() {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > self.limit
            && !mutant!("remember-all-departed")
            && let Some(oldest) = self.order.pop_front()
        {
            self.fates.remove(&oldest);
        }
    }

    /// The oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (B256, Status)> {
        self.order.iter().filter_map(|hash| Some((*hash, self.fates.get(hash)?.clone())))
    }

    pub(crate) fn get(&self, hash: &B256) -> Option<&Status> {
        self.fates.get(hash)
    }
}
