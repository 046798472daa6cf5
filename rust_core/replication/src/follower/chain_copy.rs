//! The copy of the chain that a follower's connection extends.

use std::sync::Arc;

use foreseal_builder::BuildError;
use foreseal_chain::ReplayError;
use foreseal_journal::RawAppend;

use crate::{
    error::ReplicationError,
    wire::{Cursor, Welcome},
};
use alloy_primitives::B256;

/// A copy of the chain, extended by the appends of another process.
///
/// A worker's copy reads the store of its sequencer. A node on another machine writes a store and a journal of
/// its own.
pub trait ChainCopy: Send {
    /// Returns the position from which the sequencer must continue.
    fn cursor(&mut self) -> Result<Cursor, CopyError>;

    /// Prepares for the appends of a sequencer that has accepted the cursor. Returns `true` if the copy was
    /// loaded from a store.
    fn begin(&mut self, welcome: &Arc<Welcome>) -> Result<bool, CopyError>;

    /// Adds an append.
    fn apply(&mut self, append: &RawAppend) -> Result<(), CopyError>;

    /// Publishes the newest state to readers. Does nothing in the middle of a change that the sequencer has
    /// not published either.
    fn publish(&mut self, welcome: &Welcome) -> Result<(), CopyError>;

    /// Runs `act`, which applies what the sequencer sent, in a state in which this process cannot begin to write the
    /// chain itself.
    ///
    /// # Errors
    /// Returns an error, without a call of `act`, if this process writes the chain.
    fn while_following(&mut self, act: &mut dyn FnMut()) -> Result<(), CopyError>;

    /// Returns the progress; `None` before the copy is loaded.
    fn progress(&self) -> Option<CopyProgress>;

    /// Handles the end of a connection after which the copy cannot simply continue.
    ///
    /// # Errors
    /// Returns the reason if no further connection can succeed.
    fn start_over(&mut self, cause: &RestartCause) -> Result<(), String>;
}

/// Progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// Sequence number of the append that is applied next.
    pub next: u64,
    /// Number of the newest sealed block.
    pub latest: u64,
    /// Number of applied records.
    pub records: u64,
}

/// Reason for which a copy cannot continue from its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestartCause {
    /// The sequencer does not have the cursor.
    CursorGone,
    /// An append was not the next one, or damaged: nothing of it was added.
    InvalidFrame,
    /// An append did not apply, for this reason.
    Contradicted(String),
}

/// Error of a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("the store has no block yet")]
    NoBlock,
    #[error(transparent)]
    Replication(#[from] ReplicationError),
    #[error("resuming from the store: {0}")]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Build(#[from] BuildError),
    /// This process cannot extend its copy, for example because its disk is full.
    #[error("{0}")]
    Failed(String),
}

/// Reason for which an append does not continue the chain.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("expected append {wanted}, got {found}")]
    OutOfOrder { found: u64, wanted: u64 },
    #[error(transparent)]
    NotRecords(#[from] foreseal_journal::RecordDecodeError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("block {number} with hash {hash}, where the store ends, is not in append {sequence}")]
    NotThere { number: u64, hash: B256, sequence: u64 },
    #[error("the hash of append {sequence} is not that of its content")]
    ContentHash { sequence: u64 },
    #[error("append {sequence} has content hash {found}, and here {here}")]
    OtherAppend { sequence: u64, found: B256, here: B256 },
    /// Execution here differs from the execution of the process that made the append.
    #[error("append {sequence} executes differently here: {reason}")]
    Execution { sequence: u64, reason: String },
}
