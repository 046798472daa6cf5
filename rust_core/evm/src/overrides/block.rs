//! Fields of the block that a request sets.

use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256};

/// Fields of the block that a request executes in, where it sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockOverrides {
    pub number: Option<u64>,
    /// No effect on a proof-of-stake block.
    pub difficulty: Option<U256>,
    /// Unix seconds.
    pub time: Option<u64>,
    pub gas_limit: Option<u64>,
    pub fee_recipient: Option<Address>,
    pub prev_randao: Option<B256>,
    /// Wei per gas.
    pub base_fee: Option<u64>,
    /// Wei per blob gas. It is no field of a header, so whoever executes passes it on by itself.
    pub blob_base_fee: Option<u128>,
    /// Of whole blocks alone (EIP-4788).
    pub beacon_root: Option<B256>,
    /// Of whole blocks alone (EIP-4895).
    pub withdrawals: Option<Vec<Withdrawal>>,
}

impl BlockOverrides {
    /// `header` with the fields that are set. Number and time decide which fork's rules hold.
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
