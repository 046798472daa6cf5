//! Content and position of a filter, and their encoding for another process.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_chain::{ReadMode, View};
use serde::{Deserialize, Serialize};

use crate::{params::filter::Filter, streams::log_cursor::LogCursor};

/// Content and position of a filter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum FilterState {
    Logs {
        filter: Arc<Filter>,
        cursor: LogCursor,
        /// Mode of the endpoint on which it was created.
        mode: ReadMode,
    },
    Blocks(SeenBlock),
    /// Number of the next arrival in the pool of the process that stores the filter.
    Transactions(u64),
}

/// New position of a filter, computed from the chain.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum FilterPosition {
    Logs(LogCursor),
    Blocks(SeenBlock),
}

/// Last sealed block that a filter returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SeenBlock {
    pub number: u64,
    pub hash: B256,
    /// Number of the finalized block at that time.
    pub finalized: u64,
}

impl SeenBlock {
    /// Returns the position after the latest sealed block.
    pub fn now(view: &View) -> Self {
        let latest = view.latest();
        Self { number: latest.number(), hash: latest.block.hash, finalized: view.finalized() }
    }
}
