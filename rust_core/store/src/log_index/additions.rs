//! Indexing the logs of new blocks.

use alloy_primitives::Log;
use heed::RwTxn;

use super::criterion::Criterion;
use crate::log_index::{LogIndex, LogIndexError, chunk};

/// Logs of one or several blocks that are added to the index: collected, sorted, and written chunk by chunk.
#[derive(Debug, Default)]
pub struct IndexAdditions(Vec<(Criterion, u64)>);

impl IndexAdditions {
    /// Adds a log. Ordinals must ascend, above all that the index holds.
    pub fn add(&mut self, ordinal: u64, log: &Log) {
        self.0.extend(Criterion::all_of(log).map(|criterion| (criterion, ordinal)));
    }

    /// Writes the collected logs.
    pub fn write(mut self, index: &LogIndex, txn: &mut RwTxn<'_>) -> Result<(), LogIndexError> {
        self.0.sort_unstable();
        let (mut lows, mut bytes) = (Vec::new(), Vec::new());
        let place = |(criterion, ordinal): &(Criterion, u64)| (*criterion, index.chunk(*ordinal));
        for same in self.0.chunk_by(|a, b| place(a) == place(b)) {
            let (criterion, chunk) = place(&same[0]);
            lows.clear();
            lows.extend(same.iter().map(|(_, ordinal)| index.low(*ordinal)));
            let key = criterion.key(chunk);
            let old = index.table.get(txn, key.as_ref())?.unwrap_or_default();
            chunk::append(old, &lows, &mut bytes)
                .map_err(|chunk::NotAChunk| LogIndexError::Damaged { criterion, chunk })?;
            index.table.put(txn, key.as_ref(), &bytes)?;
        }
        Ok(())
    }
}
