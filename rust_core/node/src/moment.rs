//! A header and the state after it.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_state::State;

use crate::Executed;

/// What state reads, calls and estimates need of a block.
#[derive(Clone, Debug)]
pub struct Moment(Source);

#[derive(Clone, Debug)]
enum Source {
    Block(Arc<Executed>),
    Stored(Arc<Stored>),
}

#[derive(Debug)]
struct Stored {
    header: Header,
    hash: B256,
    state: State,
}

impl Moment {
    /// Of a block that is in memory.
    pub fn of(block: Arc<Executed>) -> Self {
        Self(Source::Block(block))
    }

    /// Of a block whose body stays where it is. `hash` is that of the header.
    pub fn stored(header: Header, hash: B256, state: State) -> Self {
        Self(Source::Stored(Arc::new(Stored { header, hash, state })))
    }

    /// The block's header.
    pub fn header(&self) -> &Header {
        match &self.0 {
            Source::Block(block) => &block.block.header,
            Source::Stored(stored) => &stored.header,
        }
    }

    /// The block's hash.
    pub fn hash(&self) -> B256 {
        match &self.0 {
            Source::Block(block) => block.block.hash,
            Source::Stored(stored) => stored.hash,
        }
    }

    /// The state after the block.
    pub fn state(&self) -> &State {
        match &self.0 {
            Source::Block(block) => &block.state,
            Source::Stored(stored) => &stored.state,
        }
    }
}
