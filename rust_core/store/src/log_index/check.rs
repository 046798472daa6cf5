//! Check of the index against the logs.

use alloy_primitives::Log;
use heed::RoTxn;
use roaring::RoaringBitmap;

use super::criterion::Criterion;
use crate::log_index::{LogIndex, LogIndexError, chunk};

impl LogIndex {
    /// Compares the whole index with `logs`, which are all logs of the chain from ordinal 0 on. After each
    /// portion, calls `progress` with the number of logs checked.
    pub fn check<E: From<LogIndexError>>(
        &self,
        txn: &RoTxn<'_>,
        logs: impl IntoIterator<Item = Result<Log, E>>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), E> {
        let size = usize::try_from(self.portion()).expect("at most 2^16");
        let mut logs = logs.into_iter();
        let (mut ordinal, mut accounted) = (0, 0);
        loop {
            let portion = logs.by_ref().take(size).collect::<Result<Vec<Log>, E>>()?;
            if portion.is_empty() {
                break;
            }
            accounted += self.check_portion(txn, ordinal, &portion)?;
            ordinal += portion.len() as u64;
            progress(ordinal);
        }
        let entries = self.entries(txn)?;
        if entries != accounted {
            return Err(LogIndexError::Extra { extra: entries.saturating_sub(accounted) }.into());
        }
        Ok(())
    }

    /// Returns the number of logs in a portion for [`Self::check_portion`].
    pub(crate) fn portion(&self) -> u64 {
        self.chunk_size()
    }

    /// Returns the number of chunks of all criteria together.
    pub(crate) fn entries(&self, txn: &RoTxn<'_>) -> Result<u64, LogIndexError> {
        Ok(self.table.len(txn)?)
    }

    /// Compares the index with a portion of the logs, the last of which may be shorter.
    /// Returns the number of chunks that these logs account for. `first` is the ordinal of
    /// the first log, a multiple of the portion.
    pub(crate) fn check_portion(
        &self,
        txn: &RoTxn<'_>,
        first: u64,
        logs: &[Log],
    ) -> Result<u64, LogIndexError> {
        let mut portion: Vec<(Criterion, u64)> = Vec::new();
        for (ordinal, log) in (first..).zip(logs) {
            portion.extend(Criterion::all_of(log).map(|criterion| (criterion, ordinal)));
        }
        portion.sort_unstable();
        let mut accounted = 0;
        for same in portion.chunk_by(|a, b| a.0 == b.0) {
            self.check_chunk(txn, same)?;
            accounted += 1;
        }
        Ok(accounted)
    }

    /// Compares one chunk. `same` is one criterion with all its ordinals in the chunk.
    fn check_chunk(&self, txn: &RoTxn<'_>, same: &[(Criterion, u64)]) -> Result<(), LogIndexError> {
        let (criterion, first) = same[0];
        let number = self.chunk(first);
        let key = criterion.key(number);
        let damaged = |chunk::NotAChunk| LogIndexError::Damaged { criterion, chunk: number };
        let indexed = match self.table.get(txn, key.as_ref())? {
            Some(bytes) => chunk::read(bytes).map_err(damaged)?,
            None => RoaringBitmap::new(),
        };
        let actual: RoaringBitmap = same.iter().map(|(_, ordinal)| u32::from(self.low(*ordinal))).collect();
        match (&indexed ^ &actual).min() {
            None => Ok(()),
            Some(low) => Err(LogIndexError::Disagrees {
                criterion,
                ordinal: (u64::from(number) << self.chunk_bits) + u64::from(low),
                indexed: indexed.contains(low),
            }),
        }
    }
}
