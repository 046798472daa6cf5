//! Input of a simulation.

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_primitives::ChainSpec;
use foreseal_state::{BlockHashes, State};

use crate::{
    call::CallRequest,
    deadline::Deadline,
    overrides::{BlockOverrides, StateOverrides},
};

/// A block to simulate.
#[derive(Clone, Debug, Default)]
pub struct BlockRequest {
    pub block: BlockOverrides,
    /// State overrides, applied before the start of the block.
    pub state: StateOverrides,
    pub calls: Vec<SimulatedCall>,
}

/// A transaction to simulate. Its default gas limit is the gas left in the block.
#[derive(Clone, Debug, Default)]
pub struct SimulatedCall {
    pub request: CallRequest,
    /// Nonce; defaults to the sender's.
    pub nonce: Option<u64>,
}

/// Options of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct SimulateOptions {
    /// Requires transactions to be valid as in a real block, except for signatures and senders with code.
    pub validation: bool,
    /// Adds ether transfers to the returned logs; they have no other effect.
    pub trace_transfers: bool,
    /// Maximum number of blocks after the base, including those that fill gaps.
    pub blocks: u64,
    /// Maximum gas of all calls together.
    pub gas: u64,
    pub deadline: Deadline,
}

/// The block after which a simulation begins.
#[derive(Clone, Copy)]
pub struct SimulateBase<'a> {
    pub spec: &'a ChainSpec,
    pub header: &'a Header,
    pub hash: B256,
    pub state: &'a State,
    pub hashes: &'a dyn BlockHashes,
}
