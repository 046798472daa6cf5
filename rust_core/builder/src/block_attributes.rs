//! Header fields that are fixed when a block is opened.

use std::sync::Arc;

use alloy_consensus::{Header, constants::EMPTY_OMMER_ROOT_HASH};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_evm::difficulty_after;
use foreseal_primitives::{ChainSpec, ForkPoint, SpecId, Transaction};
use foreseal_trie::ordered_trie_root;

use crate::errors::BuildError;

/// The producer's choices for one block. The caller supplies the timestamp and the randomness.
#[derive(Clone, Debug)]
pub struct NextBlockAttributes {
    /// `true` for a proof-of-stake block (EIP-3675). A proof-of-work block can be displayed, but it has no
    /// seal.
    pub merged: bool,
    /// Unix time in seconds.
    pub timestamp: u64,
    /// The block's `mixHash` (EIP-4399).
    pub mix_hash: B256,
    /// Fee recipient.
    pub beneficiary: Address,
    /// Target gas limit. Each block moves towards it by less than 1/1024 of its parent's gas limit.
    pub gas_limit: u64,
    /// Gas limit that applies at once, instead of the target. For development only: no node imports such a block.
    pub exact_gas_limit: Option<u64>,
    /// Extra data, at most 32 bytes.
    pub extra_data: Bytes,
    /// Base fee in wei per gas, instead of the one that follows from the parent. For development only: no
    /// node imports such a block.
    pub base_fee: Option<u64>,
    /// Root of the parent beacon block (EIP-4788), from Cancun on; zero on a chain without a beacon chain.
    pub parent_beacon_block_root: B256,
    /// Withdrawals (EIP-4895), from Shanghai on. Records of steps have none, so only a block that is never
    /// recorded may have some.
    pub withdrawals: Vec<Withdrawal>,
    /// Transactions that the block begins with, in step 0: on an OP chain the deposits.
    pub transactions: Vec<Arc<Transaction>>,
}

impl NextBlockAttributes {
    /// Returns the header of the block after `parent`, with every field that its steps do not change.
    ///
    /// # Errors
    /// Returns [`BuildError::NotProofOfStake`] if the chain's rules do not allow proof of stake at this
    /// block. Returns [`BuildError::GasLimit`] if the parent's gas limit allows none for a child.
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
        let excess_blob_gas = if spec.optimism().is_some() {
            Some(0)
        } else {
            spec.excess_blob_gas_after(parent, self.timestamp).filter(|_| cancun)
        };
        Ok(Header {
            parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: self.beneficiary,
            number,
            gas_limit: self
                .exact_gas_limit
                .unwrap_or_else(|| self.gas_limit.clamp(*limits.start(), *limits.end())),
            difficulty: if self.merged { U256::ZERO } else { difficulty_after(spec, parent, self.timestamp) },
            timestamp: self.timestamp,
            extra_data: self.extra_data.clone(),
            mix_hash: self.mix_hash,
            base_fee_per_gas: spec.produced_base_fee(parent).map(|fee| self.base_fee.unwrap_or(fee)),
            withdrawals_root: fork
                .is_enabled_in(SpecId::SHANGHAI)
                .then(|| ordered_trie_root(self.withdrawals.iter().map(|one| alloy_rlp::encode(one).into()))),
            blob_gas_used: cancun.then_some(0),
            excess_blob_gas,
            parent_beacon_block_root: cancun.then_some(self.parent_beacon_block_root),
            ..Header::default()
        })
    }
}
