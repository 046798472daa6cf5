//! Plan and progress of a store repair.

use std::ops::ControlFlow;

use foreseal_chain::datadir::CopyProgress;
use foreseal_store::{Fault, VerifyProgress};

/// Method of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairMethod {
    /// The store is not damaged.
    Nothing,
    /// The undamaged tables are copied, and the others are derived from them.
    Rewrite,
    /// One of the two meta pages is damaged: in a copy of the store the undamaged one replaces it, and the
    /// journal is replayed from there.
    MetaPage,
    /// The store of the backup replaces the damaged one, and the journal is replayed from there.
    Backup,
    /// The whole journal is replayed.
    Replay,
    /// Blocks of another node are executed, and the journal is replayed from there.
    Fetch(FetchPlan),
    /// None of the given sources has the lost data.
    Impossible(String),
}

/// Damage of a store, and the method to repair it.
#[derive(Clone, Debug)]
pub struct RepairPlan {
    pub faults: Vec<Fault>,
    /// Total number of faults.
    pub fault_count: u64,
    pub method: RepairMethod,
    /// Limit of what the damaged store can prove.
    pub warning: Option<&'static str>,
}

/// Blocks that a repair fetches from another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchPlan {
    /// Number of the last block of the backup, if the backup is used too.
    pub backup: Option<u64>,
    /// First and last block to fetch. The journal seals the last one and continues after it.
    pub first: u64,
    pub last: u64,
    /// Number of the newest block that the journal seals.
    pub journal_head: u64,
    /// Number of the newest block of the other node.
    pub source_head: u64,
}

/// Progress of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairProgress {
    Verifying(VerifyProgress),
    /// Entries or blocks rewritten.
    Rewriting {
        done: u64,
        of: u64,
    },
    Restoring(CopyProgress),
    /// Blocks fetched from another node.
    Fetching {
        done: u64,
        of: u64,
    },
    /// Journal records replayed so far.
    Replaying {
        records: u64,
    },
}

/// Callback that receives the progress of a repair and may cancel it.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(RepairProgress) -> ControlFlow<()>;
