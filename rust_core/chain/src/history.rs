//! Access to sealed blocks that views no longer hold in memory.

use std::{fmt::Debug, sync::Arc};

use alloy_primitives::B256;
use foreseal_primitives::{LogFilter, LogPosition};
use foreseal_state::{StateError, StateStore};
use foreseal_store::{BlockWithoutLogs, StoredLogRange, VisitLog};
use imbl::Vector;

use crate::{
    block_counts::BlockCounts,
    executed_block::{ExecutedBlock, Step},
    hash_index::Position,
    header_and_state::HeaderAndState,
};

/// Sealed blocks that can be read again, from one generation of the chain. An unwind starts a new generation.
///
/// Once an unwind has replaced that generation, every read returns [`StateError::ViewGone`], for good.
/// Results equal those from memory, except for [`Step::state`], which a history omits.
pub trait History: Debug + Send + Sync {
    /// Returns the number of the newest block that is stored durably. Blocks up to it may leave memory.
    fn confirmed(&self) -> Option<u64>;
    /// Returns the source of stored states, if states in memory may drop what it holds.
    fn states(&self) -> Option<Arc<dyn StateStore>>;
    /// Returns the sealed block with this number.
    fn block(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError>;
    /// Returns the sealed block with this number, without its logs.
    fn block_without_logs(&self, number: u64) -> Result<Option<BlockWithoutLogs>, StateError>;
    /// Returns the table of steps of the sealed block with this number; empty for genesis and imported blocks.
    fn steps(&self, number: u64) -> Result<Option<Vector<Arc<Step>>>, StateError>;
    /// Returns header and state of the sealed block with this number.
    fn header_and_state(&self, number: u64) -> Result<Option<HeaderAndState>, StateError>;
    /// Returns the counts of the sealed block with this number, at the cost of a lookup.
    fn counts(&self, number: u64) -> Result<Option<BlockCounts>, StateError>;
    /// Returns the hash of the sealed block with this number.
    fn hash(&self, number: u64) -> Result<Option<B256>, StateError>;
    /// Returns the position of the sealed block or step with this hash. The index is meaningful only for
    /// steps.
    fn step(&self, hash: &B256) -> Result<Option<Position>, StateError>;
    /// Returns the number of unwinds before this history. Ordinals of logs are unique within one generation.
    fn generation(&self) -> u64;
    /// Returns ordinals of the next logs in `range` that match `filter`, and moves the start of the range past them.
    /// The blocks of the range must be stored durably. The result has at most `max` ordinals, and may be empty
    /// although more logs match.
    fn match_logs(
        &self,
        filter: &LogFilter,
        range: &mut StoredLogRange,
        max: usize,
    ) -> Result<Vec<u64>, StateError>;
    /// Reads the logs with these ordinals, ascending, and passes each to `visit` with its ordinal. `Break` ends the
    /// reading.
    fn read_logs(&self, filter: &LogFilter, ordinals: &[u64], visit: VisitLog<'_>) -> Result<(), StateError>;
    /// Returns the position before the log with this ordinal.
    fn log_position(&self, ordinal: u64) -> Result<LogPosition, StateError>;
    /// Returns the position of the transaction with this hash.
    fn transaction(&self, hash: &B256) -> Result<Option<Position>, StateError>;
}
