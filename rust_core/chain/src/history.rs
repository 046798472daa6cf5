//! Access to sealed blocks that views no longer hold in memory.

use std::fmt::Debug;
use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_primitives::{LogFilter, LogPosition, LogSink};
use foreseal_state::{StateError, StateStore};

use crate::{ExecutedBlock, HeaderAndState, Position};

/// Sealed blocks that can be read again, from one generation of the chain. An unwind starts a new generation.
///
/// Once an unwind has replaced that generation, every read returns [`StateError::ViewGone`], for good.
/// Results equal those from memory, except for [`Step::state`](crate::Step::state), which a history omits.
pub trait History: Debug + Send + Sync {
    /// Returns the number of the newest block that is stored durably. Blocks up to it may leave memory.
    fn confirmed(&self) -> Option<u64>;
    /// Returns the source of stored states, if states in memory may drop what it holds.
    fn states(&self) -> Option<Arc<dyn StateStore>>;
    /// Returns the sealed block with this number.
    fn block(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError>;
    /// Returns header and state of the sealed block with this number.
    fn header_and_state(&self, number: u64) -> Result<Option<HeaderAndState>, StateError>;
    /// Returns the hash of the sealed block with this number.
    fn hash(&self, number: u64) -> Result<Option<B256>, StateError>;
    /// Returns the position of the sealed block or step with this hash. The index is meaningful only for
    /// steps.
    fn step(&self, hash: &B256) -> Result<Option<Position>, StateError>;
    /// Passes the logs that match `filter` to `sink`, from position `from` to the end of block `last`, which
    /// must be stored durably. Returns the position where the search ended: the start of the block after
    /// `last`, or the position at which `sink` stopped it.
    fn search_logs(
        &self,
        filter: &LogFilter,
        from: LogPosition,
        last: u64,
        sink: &mut dyn LogSink,
    ) -> Result<LogPosition, StateError>;
    /// Returns the position of the transaction with this hash.
    fn transaction(&self, hash: &B256) -> Result<Option<Position>, StateError>;
}
