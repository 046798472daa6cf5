//! Errors of building a block and of applying a recorded step.

use alloy_primitives::B256;
use foreseal_evm::{ExecutionError, RejectedTransaction};

/// A failure to build a block. A transaction never causes one: invalid transactions are skipped and reported.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("block {number} would not be a proof-of-stake block under this genesis; it can only be imported")]
    NotProofOfStake { number: u64 },
    #[error("block {number} cannot have a valid gas limit: its parent has {parent}")]
    GasLimit { number: u64, parent: u64 },
    #[error("the block cannot begin with transaction {index} ({hash}): {reason}")]
    FirstTransaction { index: usize, hash: B256, reason: RejectedTransaction },
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    #[error("step {index} of block {number} does not follow the previous step: {what}")]
    OutOfOrder { number: u64, index: u64, what: &'static str },
    #[error("step {index} of block {number} has hash {computed}, but its record has {recorded}")]
    HashMismatch { number: u64, index: u64, computed: B256, recorded: B256 },
}
