//! Blocks of unsigned transactions on top of a block of the chain (`eth_simulateV1`).
//!
//! ```text
//! simulate ── order: numbers and times ascend, gaps become empty blocks
//!     └── per block: overrides ──> begin of block ──> calls ──> end of block ──> header with true roots
//! ```

mod block;
mod order;
mod transaction;
mod transfers;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, Log};
use foreseal_primitives::{Block, ChainSpec};
use foreseal_state::{BlockHashes, State, StateError};
use revm::context_interface::result::HaltReason;

use crate::{BlockOverrides, CallRequest, Deadline, ExecutionError, OverrideError, Rejected, StateOverrides};

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

/// A simulated block. Its hash, roots and size are those of a real block.
#[derive(Clone, Debug)]
pub struct SimulatedBlock {
    pub block: Block,
    /// One result per transaction.
    pub calls: Vec<SimulatedResult>,
}

/// Result of a simulated transaction.
#[derive(Clone, Debug)]
pub struct SimulatedResult {
    pub output: Bytes,
    /// Logs with their positions among all logs that the block's calls emitted, reverted ones included.
    pub logs: Vec<(u64, Log)>,
    pub gas_used: u64,
    /// Gas before refunds.
    pub gas_spent: u64,
    pub ending: Ending,
}

/// Status of a simulated transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Success,
    Revert,
    Halt(HaltReason),
}

/// Errors of a simulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    #[error("block numbers must be in order: {number} <= {previous}")]
    Number { number: u64, previous: u64 },
    #[error("block timestamps must be in order: {time} <= {previous}")]
    Time { time: u64, previous: u64 },
    #[error("too many blocks: at most {max}")]
    TooManyBlocks { max: u64 },
    #[error("block gas limit reached: remaining: {remaining}, required: {required}")]
    BlockGas { remaining: u64, required: u64 },
    /// The remaining gas for all calls does not cover the intrinsic cost of this one.
    #[error("calls need more than the limit of {max} gas together")]
    GasLimit { max: u64 },
    #[error("err: {error} (supplied gas {gas}, from {from})")]
    Invalid { error: Rejected, gas: u64, from: Address },
    #[error(transparent)]
    Override(#[from] OverrideError),
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

impl From<StateError> for SimulateError {
    fn from(error: StateError) -> Self {
        ExecutionError::from(error).into()
    }
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

/// Executes blocks in order, each on top of the previous one.
///
/// # Errors
/// Returns an error if numbers or times are out of order, if a block could not contain a transaction, or if a
/// limit is exceeded.
pub fn simulate(
    base: &SimulateBase<'_>,
    blocks: Vec<BlockRequest>,
    options: &SimulateOptions,
) -> Result<Vec<SimulatedBlock>, SimulateError> {
    let blocks = order::ordered(base.header, blocks, options.blocks)?;
    let mut simulator = block::Simulator::new(base, options);
    blocks.iter().map(|placed| simulator.block(placed)).collect()
}
