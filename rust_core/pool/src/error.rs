//! Errors of rejected submissions.

use alloy_primitives::U256;
use foreseal_state::StateError;
use serde::{Deserialize, Serialize};

use crate::{additional_fees::AdditionalFees, fees::Fees};

/// Reason why a submission is rejected.
///
/// The specification fixes the first four messages word for word. Numbers go into [`PoolError::data`], never
/// into these messages.
///
/// Errors of decoding precede all errors that depend on the state. If several of the latter apply, the first
/// in this order is returned.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq, Deserialize, Serialize)]
pub enum PoolError {
    /// The same transaction is pooled or in an unsealed step.
    #[error("already known")]
    AlreadyKnown,
    /// The nonce is below the sender's pending nonce, or the builder is about to include the pooled transaction with
    /// it.
    #[error("nonce too low")]
    NonceTooLow { nonce: u64, account_nonce: u64, next_nonce: u64 },
    /// The pending balance does not cover this transaction alone (wei).
    #[error("insufficient funds for gas * price + value")]
    InsufficientFunds { balance: U256, cost: U256 },
    /// A pooled transaction has this sender and nonce, and this one does not outbid it by a tenth on every
    /// fee.
    #[error("replacement transaction underpriced")]
    ReplacementUnderpriced { offered: Box<Fees>, pooled: Box<Fees> },

    #[error("transaction is too large: {size} bytes, the limit is {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("transaction is not valid EIP-2718: {0}")]
    Decode(String),
    #[error("invalid chain id: have {have}, want {want}")]
    ChainId { have: u64, want: u64 },
    /// The sender is not recoverable, or `s` is in the upper half (EIP-2).
    #[error("invalid transaction signature")]
    Signature,
    #[error("transaction type {kind} is not active on this chain yet")]
    TypeNotActive { kind: u8 },
    /// Nonce limit of EIP-2681.
    #[error("nonce has max value")]
    NonceMax,
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveMaxFee { tip: u128, max_fee: u128 },
    /// Size limit of EIP-3860 (bytes).
    #[error("max initcode size exceeded: {size} bytes, the limit is {limit}")]
    InitCodeTooLarge { size: usize, limit: usize },
    #[error("intrinsic gas too low: have {have}, want {want}")]
    IntrinsicGas { have: u64, want: u64 },
    /// Calldata floor of EIP-7623.
    #[error("gas limit is below the calldata floor: have {have}, want {want}")]
    FloorGas { have: u64, want: u64 },
    /// Transaction gas cap of EIP-7825, or that of the pool.
    #[error("transaction gas limit is too high: have {have}, the cap is {cap}")]
    GasCap { have: u64, cap: u64 },
    #[error("gas limit exceeds the block's: have {have}, the block has {limit}")]
    BlockGasLimit { have: u64, limit: u64 },
    /// EIP-7702 requires at least one authorization.
    #[error("set-code transaction has an empty authorization list")]
    EmptyAuthorizationList,
    /// EIP-4844 requires at least one blob.
    #[error("blob transaction has no blobs")]
    NoBlobs,
    /// Limits of EIP-4844 and EIP-7594.
    #[error("blob transaction has too many blobs: have {have}, the limit is {limit}")]
    TooManyBlobs { have: u64, limit: u64 },
    #[error("blob transaction must be sent with its sidecar")]
    MissingSidecar,
    /// EIP-7594: version 1 contains cell proofs.
    #[error("blob sidecar must have version {want}")]
    SidecarVersion { want: u8 },
    #[error("blob sidecar is invalid: {0}")]
    Sidecar(String),
    /// EIP-3607 excludes senders with code.
    #[error("sender is not an externally owned account")]
    SenderHasCode,
    #[error("sender has too many pooled transactions: the limit is {limit}")]
    SenderFull { limit: usize },
    /// Eviction found no cheaper transaction.
    #[error("transaction pool is full")]
    PoolFull { limit: usize },
    #[error(transparent)]
    State(#[from] StateError),
    /// On an OP chain, the pending balance does not cover this transaction alone with its fees for L1 and for the
    /// operator (wei). The message names the first amount that the balance does not cover.
    #[error("insufficient funds for gas * price + value{}", missing(*balance, *cost, fees))]
    InsufficientFundsForFees { balance: U256, cost: U256, fees: Box<AdditionalFees> },
    #[error("blob transactions (type 3) are not supported on an OP chain")]
    BlobsUnsupported,
    #[error("deposit transactions (type 126) are accepted from L1 only")]
    DepositSubmitted,
    /// Limit of Jovian: the data of a block takes at most its gas limit.
    #[error("data footprint exceeds the block's gas limit: have {have}, the block has {limit}")]
    Footprint { have: u64, limit: u64 },
    /// The tip is below the pool's minimum (wei per gas).
    #[error("transaction underpriced")]
    Underpriced { tip: u128, min_tip: u128 },
    #[error(
        "pooled transactions of the sender are too large: {size} bytes in memory with this one, the limit is {limit}"
    )]
    SenderBytes { size: usize, limit: usize },
}

impl PoolError {
    /// Returns the message of the JSON-RPC error.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// Returns the numbers behind the message by camelCase name, for the `data` object of the JSON-RPC error.
    ///
    /// Fees and balances are in wei. The result is empty if the error has no numbers.
    pub fn data(&self) -> Vec<(&'static str, U256)> {
        match self {
            Self::NonceTooLow { nonce, account_nonce, next_nonce } => numbers([
                ("have", U256::from(*nonce)),
                ("want", U256::from(*account_nonce)),
                ("nextNonce", U256::from(*next_nonce)),
            ]),
            Self::InsufficientFunds { balance, cost } => numbers([("have", *balance), ("want", *cost)]),
            Self::InsufficientFundsForFees { balance, cost, fees } => numbers([
                ("have", *balance),
                ("want", *cost),
                ("l1Fee", fees.l1),
                ("operatorFee", fees.operator),
            ]),
            Self::ReplacementUnderpriced { offered, pooled } => underpriced(offered, pooled),
            Self::Underpriced { tip, min_tip } => numbers([
                ("maxPriorityFeePerGas", U256::from(*tip)),
                ("wantMaxPriorityFeePerGas", U256::from(*min_tip)),
            ]),
            Self::TooLarge { size, limit }
            | Self::InitCodeTooLarge { size, limit }
            | Self::SenderBytes { size, limit } => have_limit(U256::from(*size), U256::from(*limit)),
            Self::ChainId { have, want }
            | Self::IntrinsicGas { have, want }
            | Self::FloorGas { have, want } => {
                numbers([("have", U256::from(*have)), ("want", U256::from(*want))])
            }
            Self::TipAboveMaxFee { tip, max_fee } => {
                numbers([("maxPriorityFeePerGas", U256::from(*tip)), ("maxFeePerGas", U256::from(*max_fee))])
            }
            Self::GasCap { have, cap: limit }
            | Self::BlockGasLimit { have, limit }
            | Self::Footprint { have, limit }
            | Self::TooManyBlobs { have, limit } => have_limit(U256::from(*have), U256::from(*limit)),
            Self::SenderFull { limit } | Self::PoolFull { limit } => numbers([("limit", U256::from(*limit))]),
            Self::TypeNotActive { kind } => numbers([("type", U256::from(*kind))]),
            Self::SidecarVersion { want } => numbers([("want", U256::from(*want))]),
            Self::AlreadyKnown
            | Self::Decode(_)
            | Self::Signature
            | Self::NonceMax
            | Self::EmptyAuthorizationList
            | Self::NoBlobs
            | Self::MissingSidecar
            | Self::Sidecar(_)
            | Self::SenderHasCode
            | Self::BlobsUnsupported
            | Self::DepositSubmitted
            | Self::State(_) => Vec::new(),
        }
    }
}

/// Returns the additional fee up to which the balance does not cover the cost, for the end of a message.
fn missing(balance: U256, cost: U256, fees: &AdditionalFees) -> &'static str {
    let with_l1 = cost.saturating_sub(fees.operator);
    if balance >= with_l1 {
        " + L1 fee + operator fee"
    } else if balance >= with_l1.saturating_sub(fees.l1) {
        " + L1 fee"
    } else {
        ""
    }
}

fn numbers<const N: usize>(fields: [(&'static str, U256); N]) -> Vec<(&'static str, U256)> {
    fields.to_vec()
}

fn have_limit(have: U256, limit: U256) -> Vec<(&'static str, U256)> {
    numbers([("have", have), ("limit", limit)])
}

/// Lists the offered fees and the minimum replacement fees.
fn underpriced(offered: &Fees, pooled: &Fees) -> Vec<(&'static str, U256)> {
    let mut fields = numbers([
        ("maxFeePerGas", U256::from(offered.max_fee)),
        ("maxPriorityFeePerGas", U256::from(offered.tip)),
        ("wantMaxFeePerGas", Fees::min_replacement_fee(pooled.max_fee)),
        ("wantMaxPriorityFeePerGas", Fees::min_replacement_fee(pooled.tip)),
    ]);
    if let Some(blob_fee) = pooled.blob_fee {
        fields.push(("maxFeePerBlobGas", U256::from(offered.blob_fee.unwrap_or(0))));
        fields.push(("wantMaxFeePerBlobGas", Fees::min_replacement_fee(blob_fee)));
    }
    fields
}
