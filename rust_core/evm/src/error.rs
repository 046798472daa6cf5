//! Errors of execution.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use foreseal_scheduler::Stopped;
use foreseal_state::StateError;
use revm::context_interface::result::{EVMError, InvalidTransaction};

use crate::{interruption::Interruption, trace_limit::TraceLimit};

/// Reasons why a block cannot contain a transaction. A rejected transaction leaves no changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectedTransaction {
    #[error("nonce too low: have {got}, want {expected}")]
    NonceTooLow { expected: u64, got: u64 },
    #[error("nonce too high: have {got}, want {expected}")]
    NonceTooHigh { expected: u64, got: u64 },
    /// The nonce is 2^64 - 1 (EIP-2681).
    #[error("nonce has max value")]
    NonceOverflow,
    /// The sender's balance is too low. Both amounts are in wei.
    ///
    /// `needed` is gas limit x maximum price + value + blob gas x maximum blob price, capped at the largest
    /// 256-bit number.
    #[error("insufficient funds for gas * price + value: have {have}, want {needed}")]
    InsufficientFunds { have: U256, needed: U256 },
    /// The gas limit exceeds the gas left in the block.
    #[error("gas limit {needed} exceeds the {available} left in the block")]
    BlockGasExceeded { available: u64, needed: u64 },
    /// The blob gas exceeds the blob gas left in the block (EIP-4844).
    #[error("blob gas {needed} exceeds the {available} left in the block")]
    BlobGasExceeded { available: u64, needed: u64 },
    /// The data exceeds the footprint left in the block of an OP chain (Jovian).
    #[error("data footprint {needed} exceeds the {available} left in the block")]
    FootprintExceeded { available: u64, needed: u64 },
    /// The gas limit exceeds the cap per transaction (EIP-7825).
    #[error("gas limit {got} exceeds the cap of {cap} per transaction")]
    GasCapExceeded { cap: u64, got: u64 },
    /// The gas limit does not cover the intrinsic cost of the transaction (EIP-7623 floor included).
    #[error("intrinsic gas too low: have {got}, want {needed}")]
    IntrinsicGas { needed: u64, got: u64 },
    #[error("max fee per gas less than block base fee: the maximum is {max_fee}, the base fee {base_fee}")]
    FeeTooLow { max_fee: u128, base_fee: u64 },
    #[error("max fee per blob gas {max_fee} is less than the block's {blob_fee}")]
    BlobFeeTooLow { max_fee: u128, blob_fee: u128 },
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveFee,
    /// The sender has code (EIP-3607).
    #[error("sender has code")]
    SenderHasCode,
    /// The init code is too large (EIP-3860).
    #[error("init code is too large")]
    InitCodeTooLarge,
    /// The chain id differs from the chain's (EIP-155).
    #[error("chain id differs from the chain's")]
    ChainId,
    /// The signature has a high `s` (EIP-2), or replay protection before EIP-155 is active.
    #[error("signature form is not valid under the block's rules")]
    SignatureForm,
    #[error("transaction type {0} is not supported under the block's rules")]
    UnsupportedType(u8),
    /// The deposit contract emits a log with a layout other than that of EIP-6110.
    #[error("deposit log has a wrong layout")]
    DepositLog,
    #[error("{0}")]
    Other(String),
}

/// Errors that prevent an execution from producing a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    #[error(transparent)]
    Rejected(#[from] RejectedTransaction),
    #[error(transparent)]
    State(#[from] StateError),
    /// A system contract is missing or fails: the block cannot be valid (EIP-7002, 7251).
    #[error("system contract {address}: {reason}")]
    SystemContract { address: Address, reason: String },
    /// The layout of a deposit contract's log differs from EIP-6110.
    #[error("deposit log has a wrong layout")]
    DepositLog,
    #[error("execution environment: {0}")]
    Environment(String),
    /// A call, an estimate or a trace exceeded its time limit.
    #[error("execution took longer than {0:?}")]
    TimeLimit(Duration),
    /// The transaction's result exceeds the limit of the caller: see [`TransactionLimits`](crate::TransactionLimits).
    #[error("the result has {size} bytes as JSON, more than allowed here")]
    ResultTooLarge { size: usize },
    /// The scheduler cancelled the job that executes: its connection is closed, or its caller's budget is
    /// exhausted.
    #[error(transparent)]
    Stopped(Stopped),
    #[error(transparent)]
    TraceLimit(TraceLimit),
}

impl From<Interruption> for ExecutionError {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Read(error) => error.into(),
            Interruption::TimeLimit(limit) | Interruption::Stopped(Stopped::TimeLimit(limit)) => {
                Self::TimeLimit(limit)
            }
            Interruption::Stopped(stopped) => Self::Stopped(stopped),
            Interruption::TraceLimit(limit) => Self::TraceLimit(limit),
        }
    }
}

/// Transaction and block values that revm's errors omit.
#[derive(Clone, Copy, Default)]
pub(crate) struct TransactionFees {
    pub kind: u8,
    pub max_fee: u128,
    pub base_fee: u64,
    pub block_gas: u64,
    pub gas_limit: u64,
}

impl TransactionFees {
    pub(crate) fn error(self, error: EVMError<Interruption, InvalidTransaction>) -> ExecutionError {
        match error {
            EVMError::Transaction(invalid) => self.rejected(invalid).into(),
            EVMError::Database(interruption) => interruption.into(),
            EVMError::Header(error) => ExecutionError::Environment(error.to_string()),
            EVMError::Custom(text) => ExecutionError::Environment(text),
            EVMError::CustomAny(error) => ExecutionError::Environment(error.to_string()),
        }
    }

    fn rejected(self, invalid: InvalidTransaction) -> RejectedTransaction {
        use InvalidTransaction as I;
        match invalid {
            I::NonceTooLow { tx, state } => RejectedTransaction::NonceTooLow { expected: state, got: tx },
            I::NonceTooHigh { tx, state } => RejectedTransaction::NonceTooHigh { expected: state, got: tx },
            I::NonceOverflowInTransaction => RejectedTransaction::NonceOverflow,
            I::LackOfFundForMaxFee { fee, balance } => {
                RejectedTransaction::InsufficientFunds { have: *balance, needed: *fee }
            }
            // revm does not read the balance in this case; the executor fills it in.
            I::OverflowPaymentInTransaction => {
                RejectedTransaction::InsufficientFunds { have: U256::MAX, needed: U256::MAX }
            }
            I::CallerGasLimitMoreThanBlock => {
                RejectedTransaction::BlockGasExceeded { available: self.block_gas, needed: self.gas_limit }
            }
            I::TxGasLimitGreaterThanCap { gas_limit, cap } => {
                RejectedTransaction::GasCapExceeded { cap, got: gas_limit }
            }
            I::CallGasCostMoreThanGasLimit { initial_gas: needed, gas_limit: got }
            | I::GasFloorMoreThanGasLimit { gas_floor: needed, gas_limit: got } => {
                RejectedTransaction::IntrinsicGas { needed, got }
            }
            I::GasPriceLessThanBasefee => {
                RejectedTransaction::FeeTooLow { max_fee: self.max_fee, base_fee: self.base_fee }
            }
            I::BlobGasPriceGreaterThanMax { block_blob_gas_price, tx_max_fee_per_blob_gas } => {
                RejectedTransaction::BlobFeeTooLow {
                    max_fee: tx_max_fee_per_blob_gas,
                    blob_fee: block_blob_gas_price,
                }
            }
            I::PriorityFeeGreaterThanMaxFee => RejectedTransaction::TipAboveFee,
            I::RejectCallerWithCode => RejectedTransaction::SenderHasCode,
            I::CreateInitCodeSizeLimit => RejectedTransaction::InitCodeTooLarge,
            I::InvalidChainId | I::MissingChainId => RejectedTransaction::ChainId,
            I::Eip2930NotSupported
            | I::Eip1559NotSupported
            | I::Eip4844NotSupported
            | I::Eip7702NotSupported => RejectedTransaction::UnsupportedType(self.kind),
            other @ (I::AccessListNotSupported
            | I::MaxFeePerBlobGasNotSupported
            | I::BlobVersionedHashesNotSupported
            | I::EmptyBlobs
            | I::BlobCreateTransaction
            | I::TooManyBlobs { .. }
            | I::BlobVersionNotSupported
            | I::AuthorizationListNotSupported
            | I::AuthorizationListInvalidFields
            | I::EmptyAuthorizationList
            | I::Eip7873NotSupported
            | I::Eip7873MissingTarget
            | I::Str(_)) => RejectedTransaction::Other(other.to_string()),
        }
    }
}
