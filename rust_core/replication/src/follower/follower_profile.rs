//! Properties that a follower reports in its greeting.

use crate::wire::FollowerRole;

/// Properties that a follower reports in its greeting, for the sequencer's status and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowerProfile {
    /// Name of the follower in metrics.
    pub name: String,
    pub role: FollowerRole,
    /// Random number of this run of the process.
    pub run_id: [u8; 16],
    /// Version of the program.
    pub version: String,
    /// Address of the follower's RPC server, for display; empty if it has none.
    pub rpc: String,
}

impl FollowerProfile {
    /// Returns the profile of the worker `name`, which shares the sequencer's store.
    pub fn worker(name: String) -> Self {
        Self {
            name,
            role: FollowerRole::Worker,
            run_id: [0; 16],
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rpc: String::new(),
        }
    }
}
