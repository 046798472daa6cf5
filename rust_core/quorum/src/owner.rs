//! The process that may append.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::run_id::RunId;

/// Value of the key `owner`: the leader that may append. Stored as JSON, so that `etcdctl get` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub run_id: RunId,
    /// Number of the takeover; each owner has a higher one than its predecessor.
    pub epoch: u64,
    /// Name of the node, for display.
    pub name: String,
    /// Address of its feed.
    pub feed: String,
    /// Address of its RPC.
    pub rpc: String,
    /// Version of its program.
    pub version: String,
    /// Standby that should take over after a release.
    #[serde(default)]
    pub successor: Option<RunId>,
    /// `true` after the owner stopped appending on purpose.
    #[serde(default)]
    pub released: bool,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in epoch {}", self.name, self.epoch)
    }
}
