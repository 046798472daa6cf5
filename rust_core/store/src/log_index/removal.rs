//! Removing the logs of unwound blocks.

use std::{collections::BTreeSet, ops::Bound};

use alloy_primitives::Log;
use heed::RwTxn;

use super::criterion::Criterion;
use crate::log_index::{LogIndex, LogIndexError, chunk};

impl LogIndex {
    /// Removes every ordinal from `from` on. `logs` are the logs with these
    /// ordinals: only their criteria are processed.
    pub fn unwind<'l>(
        &self,
        txn: &mut RwTxn<'_>,
        from: u64,
        logs: impl IntoIterator<Item = &'l Log>,
    ) -> Result<(), LogIndexError> {
        let criteria: BTreeSet<Criterion> = logs.into_iter().flat_map(Criterion::all_of).collect();
        for criterion in criteria {
            self.truncate(txn, criterion, from)?;
        }
        Ok(())
    }

    fn truncate(&self, txn: &mut RwTxn<'_>, criterion: Criterion, from: u64) -> Result<(), LogIndexError> {
        let number = self.chunk(from);
        let key = criterion.key(number);
        if let Some(bytes) = self.table.get(txn, key.as_ref())? {
            let damaged = |chunk::NotAChunk| LogIndexError::Damaged { criterion, chunk: number };
            let mut chunk = chunk::read(bytes).map_err(damaged)?;
            chunk.remove_range(u32::from(self.low(from))..);
            if chunk.is_empty() {
                self.table.delete(txn, key.as_ref())?;
            } else {
                let mut bytes = Vec::new();
                chunk::write(&mut chunk, &mut bytes);
                self.table.put(txn, key.as_ref(), &bytes)?;
            }
        }
        let last = criterion.key(u32::MAX);
        let later = (Bound::Excluded(key.as_ref()), Bound::Included(last.as_ref()));
        self.table.delete_range(txn, &later)?;
        Ok(())
    }
}
