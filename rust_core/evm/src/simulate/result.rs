//! Output of a simulation.

use alloy_primitives::{Bytes, Log};
use foreseal_primitives::Block;
use revm::context_interface::result::HaltReason;

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
    /// Logs that were not reverted.
    pub logs: Vec<Log>,
    /// Position of the first log among those of the block.
    pub first_log_index: u64,
    pub gas_used: u64,
    /// Gas before refunds.
    pub gas_spent: u64,
    pub status: CallStatus,
}

/// Status of a simulated transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStatus {
    Success,
    Revert,
    Halt(HaltReason),
}
