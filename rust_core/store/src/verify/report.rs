//! Progress and result of a verification.

use crate::meta::StoredHead;

/// Maximum number of listed faults; further ones are only counted.
pub(super) const LISTED: usize = 1_000;
/// An inconsistency in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub table: &'static str,
    /// Key of the entry; a part of the key if the fault covers several entries.
    pub key: Vec<u8>,
    pub why: String,
}

/// Part of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorePart {
    Pages,
    Blocks,
    Versions,
    StateRoot,
    Nodes,
    Logs,
}

/// Progress of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyProgress {
    pub part: StorePart,
    /// Number of blocks, entries or logs verified.
    pub done: u64,
    /// Total number; an estimate while a node writes.
    pub of: u64,
}

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// The newest verified block; `None` for a store without blocks.
    pub head: Option<StoredHead>,
    /// The first thousand faults.
    pub faults: Vec<Fault>,
    /// Number of all faults.
    pub fault_count: u64,
    pub transactions: u64,
    pub logs: u64,
    /// Number of accounts at the head; `slots` is the number of nonzero slots.
    pub accounts: u64,
    pub slots: u64,
    /// Number of trie nodes in all versions.
    pub nodes: u64,
}

impl VerifyReport {
    /// Returns `true` if there are no faults.
    pub fn is_clean(&self) -> bool {
        self.fault_count == 0
    }
}
