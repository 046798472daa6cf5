//! A header and the state after it.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_state::State;

use crate::Executed;

/// What state reads, calls and estimates need of a block.
#[derive(Clone, Debug)]
pub struct Moment(pub(crate) Arc<Executed>);

impl Moment {
    /// The block's header.
    pub fn header(&self) -> &Header {
        &self.0.block.header
    }

    /// The block's hash.
    pub fn hash(&self) -> B256 {
        self.0.block.hash
    }

    /// The state after the block.
    pub fn state(&self) -> &State {
        &self.0.state
    }
}
