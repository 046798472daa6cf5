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
use foreseal_state::{BlockHashes, State, StateError};
use foreseal_types::{Block, ChainSpec};
use revm::context_interface::result::HaltReason;

use crate::{BlockOverrides, CallRequest, Deadline, ExecutionError, OverrideError, Rejected, StateOverrides};

/// A block to simulate.
#[derive(Clone, Debug, Default)]
pub struct BlockRequest {
    pub block: BlockOverrides,
    /// Set before anything else in the block.
    pub state: StateOverrides,
    pub calls: Vec<SimulatedCall>,
}

/// A transaction to simulate. Its gas is what is left in the block unless it names some.
#[derive(Clone, Debug, Default)]
pub struct SimulatedCall {
    pub request: CallRequest,
    /// The sender's own when none is given.
    pub nonce: Option<u64>,
}

/// How to simulate.
#[derive(Clone, Copy, Debug)]
pub struct SimulateOptions {
    /// Transactions must be valid as in a real block, but for signatures and senders with code.
    pub validation: bool,
    /// Ether transfers are shown as logs, which count for nothing else.
    pub trace_transfers: bool,
    /// Most blocks after the base, those that fill gaps among them.
    pub blocks: u64,
    /// Most gas that all calls together may use.
    pub gas: u64,
    pub deadline: Deadline,
}

/// A simulated block. Its hash, roots and size are those of a real one.
#[derive(Clone, Debug)]
pub struct SimulatedBlock {
    pub block: Block,
    /// One per transaction.
    pub calls: Vec<SimulatedResult>,
}

/// How a simulated transaction ended.
#[derive(Clone, Debug)]
pub struct SimulatedResult {
    pub output: Bytes,
    /// With their positions among all logs that the block's calls emitted, undone ones included.
    pub logs: Vec<(u64, Log)>,
    pub gas_used: u64,
    /// Before refunds.
    pub gas_spent: u64,
    pub ending: Ending,
}

/// Whether a transaction succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Success,
    Revert,
    Halt(HaltReason),
}

/// Why there is no simulation.
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
    /// The gas that all calls together may use does not cover what this one costs.
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

/// The block that a simulation begins after.
#[derive(Clone, Copy)]
pub struct SimulateBase<'a> {
    pub spec: &'a ChainSpec,
    pub header: &'a Header,
    pub hash: B256,
    pub state: &'a State,
    pub hashes: &'a dyn BlockHashes,
}

/// Executes blocks one after the other, each on the one before.
///
/// # Errors
/// When numbers or times are out of order, a transaction could not be in its block, or a limit is met.
pub fn simulate(
    base: &SimulateBase<'_>,
    blocks: Vec<BlockRequest>,
    options: &SimulateOptions,
) -> Result<Vec<SimulatedBlock>, SimulateError> {
    let blocks = order::ordered(base.header, blocks, options.blocks)?;
    let mut simulator = block::Simulator::new(base, options);
    blocks.iter().map(|placed| simulator.block(placed)).collect()
}
