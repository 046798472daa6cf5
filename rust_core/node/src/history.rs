//! Where blocks are that views no longer hold in memory.

use std::fmt::Debug;
use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_state::{StateError, StateStore};
use foreseal_types::{LogFilter, LogPosition, LogSink};

use crate::{Executed, Moment, Position};

/// Sealed blocks that can be read again, as of one generation of the chain.
///
/// Whoever holds it may have been overtaken by an unwind: then every read is [`StateError::ViewGone`], for good. What is
/// answered is the same in memory and here, [`Step::state`](crate::Step::state) excepted, which a history leaves out.
pub trait History: Debug + Send + Sync {
    /// The newest block that is held for good; the blocks up to it may leave memory.
    fn confirmed(&self) -> Option<u64>;
    /// What holds the states of these blocks, if states in memory can do without what it holds.
    fn states(&self) -> Option<Arc<dyn StateStore>>;
    /// The sealed block with this number.
    fn block(&self, number: u64) -> Result<Option<Arc<Executed>>, StateError>;
    /// Header and state of the sealed block with this number.
    fn moment(&self, number: u64) -> Result<Option<Moment>, StateError>;
    /// Hash of the sealed block with this number.
    fn hash(&self, number: u64) -> Result<Option<B256>, StateError>;
    /// Where the sealed block or step with this hash is. The index counts for steps only.
    fn step(&self, hash: &B256) -> Result<Option<Position>, StateError>;
    /// Gives `sink` the logs that match `filter`, from the place `from` on up to the end of block `last`, one that is held
    /// for good. Returns where the search ended: in front of the block after `last`, or where `sink` broke it off.
    fn search_logs(
        &self,
        filter: &LogFilter,
        from: LogPosition,
        last: u64,
        sink: &mut dyn LogSink,
    ) -> Result<LogPosition, StateError>;
    /// Where the transaction with this hash is.
    fn transaction(&self, hash: &B256) -> Result<Option<Position>, StateError>;
}
