//! What is fixed when a block is opened.

use alloy_consensus::{
    Header,
    constants::{EMPTY_OMMER_ROOT_HASH, EMPTY_WITHDRAWALS},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_evm::difficulty_after;
use foreseal_types::{ChainSpec, ForkPoint, SpecId};

use crate::BuildError;

/// Choices of the producer for one block. Clock and randomness come from outside.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Whether it is a proof-of-stake block (EIP-3675). One of proof of work can be shown, but has no seal.
    pub merged: bool,
    /// Unix seconds.
    pub timestamp: u64,
    /// The block's `mixHash` (EIP-4399).
    pub mix_hash: B256,
    /// Fee recipient.
    pub beneficiary: Address,
    /// Gas limit to move towards; each block moves by less than 1/1024 of its parent's.
    pub gas_limit: u64,
    /// At most 32 bytes.
    pub extra_data: Bytes,
    /// Wei per gas in place of what follows from the parent; only in development, as no import takes such a block.
    pub base_fee: Option<u64>,
}

impl Opening {
    /// The header of the block after `parent`, with everything that its steps will not change.
    ///
    /// # Errors
    /// When the chain's rules at this point know no proof of stake, or the parent's gas limit leaves none for a child.
    pub fn header(&self, spec: &ChainSpec, parent: &Header, parent_hash: B256) -> Result<Header, BuildError> {
        let number = parent.number + 1;
        let fork = spec.fork(ForkPoint { number, timestamp: self.timestamp, merged: self.merged });
        if self.merged && !fork.is_enabled_in(SpecId::MERGE) {
            return Err(BuildError::NotProofOfStake { number });
        }
        let limits = spec.gas_limits_after(parent);
        if limits.is_empty() {
            return Err(BuildError::GasLimit { number, parent: parent.gas_limit });
        }
        let cancun = fork.is_enabled_in(SpecId::CANCUN);
        Ok(Header {
            parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: self.beneficiary,
            number,
            gas_limit: self.gas_limit.clamp(*limits.start(), *limits.end()),
            difficulty: if self.merged { U256::ZERO } else { difficulty_after(spec, parent, self.timestamp) },
            timestamp: self.timestamp,
            extra_data: self.extra_data.clone(),
            mix_hash: self.mix_hash,
            base_fee_per_gas: spec.produced_base_fee(parent).map(|fee| self.base_fee.unwrap_or(fee)),
            withdrawals_root: fork.is_enabled_in(SpecId::SHANGHAI).then_some(EMPTY_WITHDRAWALS),
            blob_gas_used: cancun.then_some(0),
            excess_blob_gas: spec.excess_blob_gas_after(parent, self.timestamp).filter(|_| cancun),
            parent_beacon_block_root: cancun.then_some(B256::ZERO),
            ..Header::default()
        })
    }
}
