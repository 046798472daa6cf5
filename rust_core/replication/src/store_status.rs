//! Status of the store, which the sequencer reports to its followers.

use serde::{Deserialize, Serialize};

/// Progress of the scrub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct ScrubStatus {
    /// Bytes read in the current pass; 0 between passes.
    pub bytes: u64,
    /// Bytes read in all passes.
    pub total: u64,
    /// Number of complete passes.
    pub passes: u64,
    /// Number of damaged pages found.
    pub damaged: u64,
    /// Number of pages without a checksum in the newest complete pass. This program writes no such page.
    pub unchecked: u64,
    /// Number of portions that could not be read and were retried.
    pub errors: u64,
    /// Unix time in seconds of the end of the last complete pass.
    pub last: Option<u64>,
}

/// Status of the store.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct StoreStatus {
    /// Number of its newest block.
    pub head: Option<u64>,
    /// Sealed but not stored work, in transactions; a block counts 500 more.
    pub backlog: usize,
    /// Builder throttle in thousandths: 1000 is unthrottled, lower values mean that the store is behind.
    pub share: u32,
    /// Bytes in use.
    pub bytes: u64,
    /// Reason why the store cannot be written, or must not be built upon; `None` otherwise.
    pub failure: Option<String>,
    pub scrub: ScrubStatus,
}
