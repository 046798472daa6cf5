//! Fees that a transaction offers, and the replacement rule.

use alloy_consensus::Transaction;
use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

/// Fees that a transaction offers (wei per gas). `gasPrice` of a legacy or EIP-2930 transaction is both
/// `max_fee` and `tip`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Fees {
    /// `maxFeePerGas`.
    pub max_fee: u128,
    /// `maxPriorityFeePerGas`.
    pub tip: u128,
    /// `maxFeePerBlobGas`; `None` without blobs.
    pub blob_fee: Option<u128>,
}

impl Fees {
    /// Reads the fees of a transaction.
    pub fn from_envelope(envelope: &impl Transaction) -> Self {
        let max_fee = envelope.max_fee_per_gas();
        Self {
            max_fee,
            tip: envelope.max_priority_fee_per_gas().unwrap_or(max_fee),
            blob_fee: envelope.max_fee_per_blob_gas(),
        }
    }

    /// Returns the wei per gas left for the fee recipient under `base_fee`; `None` if `base_fee` exceeds the
    /// maximum.
    pub fn effective_tip(&self, base_fee: u128) -> Option<u128> {
        self.max_fee.checked_sub(base_fee).map(|room| room.min(self.tip))
    }

    /// Returns `true` if both maximum fees cover the block's base fees.
    pub fn covers(&self, base_fee: u128, blob_base_fee: u128) -> bool {
        self.max_fee >= base_fee && self.blob_fee.is_none_or(|fee| fee >= blob_base_fee)
    }

    /// Returns `true` if these fees may replace `pooled`.
    ///
    /// Every fee must rise by at least a tenth, in exact integers, and at least one must be higher (a tenth
    /// of zero is zero). Only another blob transaction may replace a blob transaction, as any other offers no
    /// `maxFeePerBlobGas`.
    pub fn can_replace(&self, pooled: &Self) -> bool {
        let pairs = [
            (self.max_fee, pooled.max_fee),
            (self.tip, pooled.tip),
            (self.blob_fee.unwrap_or(0), pooled.blob_fee.unwrap_or(0)),
        ];
        let has_blob_fee = self.blob_fee.is_some() || pooled.blob_fee.is_none();
        has_blob_fee
            && pairs.iter().all(|&(new, old)| raised_by_a_tenth(new, old))
            && pairs.iter().any(|(new, old)| new > old)
    }

    /// Returns the minimum fee that may replace `pooled`.
    pub fn min_replacement_fee(pooled: u128) -> U256 {
        (U256::from(pooled) * U256::from(11)).div_ceil(U256::from(10)).max(U256::from(1))
    }
}

fn raised_by_a_tenth(new: u128, old: u128) -> bool {
    // A product of u128 and 11 fits in 132 bits.
    U256::from(new) * U256::from(10) >= U256::from(old) * U256::from(11)
}
