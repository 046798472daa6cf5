//! A registered process of the chain.

use serde::{Deserialize, Serialize};

use crate::run_id::RunId;

/// Value of a key below `members/`: a process that the status lists, and whose position the retention respects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEntry {
    pub run_id: RunId,
    /// Name of the node, for display.
    pub name: String,
    /// Role of the node, such as `standby` or `backup`.
    pub role: String,
    /// Address of its feed.
    pub feed: String,
    /// Address of its RPC.
    pub rpc: String,
    /// Version of its program.
    pub version: String,
    /// Sequence number of the first append that it lacks.
    pub next: u64,
    /// Unix time in milliseconds of this entry by the clock of the process: for display, and for
    /// [`MemberClocks`](crate::MemberClocks).
    pub updated: u64,
}

impl MemberEntry {
    /// Returns the name of its key: the name of the node, so that a restarted node replaces its entry; the run id
    /// of a node without a name.
    pub fn key_name(&self) -> String {
        if self.name.is_empty() { self.run_id.to_string() } else { self.name.clone() }
    }

    /// Returns the entry of a standby for tests: `node-` and the number of its run.
    #[cfg(test)]
    pub(crate) fn standby(run: u8, next: u64, updated: u64) -> Self {
        Self {
            run_id: RunId([run; 16]),
            name: format!("node-{run}"),
            role: "standby".to_owned(),
            feed: String::new(),
            rpc: String::new(),
            version: String::new(),
            next,
            updated,
        }
    }
}
