//! Blocks of unsigned transactions on top of a block of the chain (`eth_simulateV1`).
//!
//! ```text
//! simulate ── order: numbers and times ascend, gaps become empty blocks
//!     └── per block: overrides ──> begin of block ──> calls ──> end of block ──> header with true roots
//! ```

mod block;
mod block_order;
mod error;
mod request;
mod result;
mod transaction;
mod transfers;

pub use error::SimulateError;
pub use request::{BlockRequest, SimulateBase, SimulateOptions, SimulatedCall};
pub use result::{CallStatus, SimulatedBlock, SimulatedResult};

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
    let blocks = block_order::number_requests(base.header, blocks, options.blocks)?;
    let mut simulator = block::Simulator::new(base, options);
    blocks.iter().map(|placed| simulator.block(placed)).collect()
}
