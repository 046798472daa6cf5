//! A header and the state after it.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_state::State;

use crate::executed_block::ExecutedBlock;

/// Header, hash and state of a block: the input of state reads, calls and gas estimates.
#[derive(Clone, Debug)]
pub struct HeaderAndState(Source);

#[derive(Clone, Debug)]
enum Source {
    Block(Arc<ExecutedBlock>),
    Stored(Arc<Stored>),
}

#[derive(Debug)]
struct Stored {
    header: Header,
    hash: B256,
    state: State,
}

impl HeaderAndState {
    /// Wraps a block that is in memory.
    pub fn from_block(block: Arc<ExecutedBlock>) -> Self {
        Self(Source::Block(block))
    }

    /// Wraps header and state of a block whose body is not loaded. `hash` is the hash of the header.
    pub fn stored(header: Header, hash: B256, state: State) -> Self {
        Self(Source::Stored(Arc::new(Stored { header, hash, state })))
    }

    /// Returns the header of the block.
    pub fn header(&self) -> &Header {
        match &self.0 {
            Source::Block(block) => &block.block.header,
            Source::Stored(stored) => &stored.header,
        }
    }

    /// Returns the hash of the block.
    pub fn hash(&self) -> B256 {
        match &self.0 {
            Source::Block(block) => block.block.hash,
            Source::Stored(stored) => stored.hash,
        }
    }

    /// Returns the state after the block.
    pub fn state(&self) -> &State {
        match &self.0 {
            Source::Block(block) => &block.state,
            Source::Stored(stored) => &stored.state,
        }
    }
}
