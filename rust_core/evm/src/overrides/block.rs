//! Block fields that a request overrides.

use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256};

/// Overridden fields of the block in which a request executes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockOverrides {
    pub number: Option<u64>,
    /// Difficulty; no effect on a proof-of-stake block.
    pub difficulty: Option<U256>,
    /// Timestamp in Unix seconds.
    pub time: Option<u64>,
    pub gas_limit: Option<u64>,
    pub fee_recipient: Option<Address>,
    pub prev_randao: Option<B256>,
    /// Base fee in wei per gas.
    pub base_fee: Option<u64>,
    /// Blob base fee in wei per blob gas. It is not a header field, so the caller passes it on separately.
    pub blob_base_fee: Option<u128>,
    /// Parent beacon block root (EIP-4788), only for simulated blocks.
    pub beacon_root: Option<B256>,
    /// Withdrawals (EIP-4895), only for simulated blocks.
    pub withdrawals: Option<Vec<Withdrawal>>,
}

impl BlockOverrides {
    /// Returns `header` with the overridden fields. Number and time determine the fork.
    pub fn apply(&self, header: &Header) -> Header {
        let merged = header.difficulty.is_zero();
        Header {
            number: self.number.unwrap_or(header.number),
            difficulty: self.difficulty.filter(|_| !merged).unwrap_or(header.difficulty),
            timestamp: self.time.unwrap_or(header.timestamp),
            gas_limit: self.gas_limit.unwrap_or(header.gas_limit),
            beneficiary: self.fee_recipient.unwrap_or(header.beneficiary),
            mix_hash: self.prev_randao.unwrap_or(header.mix_hash),
            base_fee_per_gas: self.base_fee.or(header.base_fee_per_gas),
            parent_beacon_block_root: self.beacon_root.or(header.parent_beacon_block_root),
            ..header.clone()
        }
    }
}
