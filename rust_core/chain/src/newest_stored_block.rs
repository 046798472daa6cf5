//! Number of the newest stored block, shared by writer and readers.

use crate::sync::{AtomicU64, Ordering};

/// Number of the newest block in the store, plus one; 0 if the store is empty.
#[derive(Debug, Default)]
pub struct NewestStoredBlock(AtomicU64);

impl NewestStoredBlock {
    pub fn get(&self) -> Option<u64> {
        self.0.load(Ordering::Acquire).checked_sub(1)
    }

    pub fn set(&self, number: Option<u64>) {
        self.0.store(number.map_or(0, |number| number.saturating_add(1)), Ordering::Release);
    }
}
