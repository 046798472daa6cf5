//! The newest append.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

/// Value of the key `head`: the newest append. Stored as JSON, so that `etcdctl get` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumHead {
    pub sequence: u64,
    /// Chain hash of the append.
    pub hash: B256,
    /// Number of keys that hold its record.
    pub parts: u32,
    /// Block and step after this append.
    pub block: u64,
    pub index: u64,
    /// Epoch of the owner that wrote it.
    pub epoch: u64,
}
