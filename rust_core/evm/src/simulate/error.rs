//! Errors of a simulation.

use alloy_primitives::Address;
use foreseal_state::StateError;

use crate::{
    error::{ExecutionError, RejectedTransaction},
    overrides::OverrideError,
};

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
    Invalid { error: RejectedTransaction, gas: u64, from: Address },
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
