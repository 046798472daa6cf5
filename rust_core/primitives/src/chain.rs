//! The rules of a chain: fork activation and the parameters that depend on it.

use std::ops::RangeInclusive;

use alloy_consensus::{
    Header,
    constants::{EMPTY_OMMER_ROOT_HASH, EMPTY_WITHDRAWALS},
};
use alloy_eips::{
    eip1559::{BaseFeeParams, INITIAL_BASE_FEE},
    eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
    eip7685::EMPTY_REQUESTS_HASH,
    eip7840::BlobParams,
    eip7892::BlobScheduleBlobParams,
};
use alloy_genesis::{ChainConfig, Genesis};
use alloy_primitives::{Address, B256};
use revm_primitives::hardfork::SpecId;

use crate::{
    genesis::{GenesisError, check_genesis},
    optimism::OptimismRules,
};

/// Per-transaction gas cap from Osaka on (EIP-7825).
pub const TRANSACTION_GAS_CAP: u64 = alloy_eips::eip7825::MAX_TX_GAS_LIMIT_OSAKA;
/// Largest RLP size of a block in bytes from Osaka on (EIP-7934).
pub const MAX_BLOCK_BYTES: usize = 10 * 1024 * 1024 - 2 * 1024 * 1024;

/// Lowest gas limit of a block (yellow paper, section 4.4.4).
const MIN_GAS_LIMIT: u64 = 5_000;
/// Maximum gas limit of a block: 2^63 - 1, as in geth.
const MAX_GAS_LIMIT: u64 = u64::MAX >> 1;
/// Divisor of the parent's gas limit: the limit changes by less than
/// this fraction (yellow paper, section 4.4.4).
const GAS_LIMIT_BOUND: u64 = 1_024;

/// A chain's rules, read from a genesis file in geth's format.
#[derive(Clone, Debug)]
pub struct ChainSpec {
    genesis: Genesis,
    /// Hash of the genesis block, if the allocation of `genesis` is left out.
    genesis_hash: Option<B256>,
    blobs: BlobScheduleBlobParams,
    /// Lowest base fee (wei per gas) of a produced block, from `config.minBaseFee`.
    min_base_fee: u64,
    optimism: Option<OptimismRules>,
}

/// The fields of a block that select its fork rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    pub number: u64,
    pub timestamp: u64,
    /// `true` for a proof-of-stake block: its difficulty is zero (EIP-3675).
    pub merged: bool,
}

impl From<&Header> for ForkPoint {
    fn from(header: &Header) -> Self {
        Self { number: header.number, timestamp: header.timestamp, merged: header.difficulty.is_zero() }
    }
}

impl ChainSpec {
    /// Reads the rules from a genesis.
    ///
    /// # Errors
    /// Returns an error if the genesis names a fork that this version does
    /// not implement, or a number out of range.
    pub fn new(genesis: Genesis) -> Result<Self, GenesisError> {
        check_genesis(&genesis)?;
        let config = &genesis.config;
        let min_base_fee = match config.extra_fields.get("minBaseFee") {
            None => 0,
            Some(value) => value.as_u64().ok_or(GenesisError::MinBaseFee)?,
        };
        let blobs = config.blob_schedule_blob_params();
        let optimism = OptimismRules::read(&genesis)?;
        Ok(Self { genesis, genesis_hash: None, blobs, min_base_fee, optimism })
    }

    /// Reads the rules from a genesis whose allocation is left out, as no state is derived from it. `hash` is
    /// that of the genesis block.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::new`].
    pub fn without_allocation(rules: Genesis, hash: B256) -> Result<Self, GenesisError> {
        Ok(Self { genesis_hash: Some(hash), ..Self::new(rules)? })
    }

    /// Returns the hash of the genesis block if the allocation is left out.
    pub fn genesis_hash(&self) -> Option<B256> {
        self.genesis_hash
    }

    /// Returns the genesis from which the rules were read. Its allocation is empty if it is left out.
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// Returns the fork configuration.
    pub fn config(&self) -> &ChainConfig {
        &self.genesis.config
    }

    /// Returns the EIP-155 chain id.
    pub fn chain_id(&self) -> u64 {
        self.genesis.config.chain_id
    }

    /// Returns the contract that logs EIP-6110 deposits, if the chain has one.
    pub fn deposit_contract(&self) -> Option<Address> {
        self.genesis.config.deposit_contract_address
    }

    /// Returns the rules of an OP chain; `None` for any other chain.
    pub fn optimism(&self) -> Option<&OptimismRules> {
        self.optimism.as_ref()
    }

    /// Returns the fork whose rules apply at `at`.
    pub fn fork(&self, at: impl Into<ForkPoint>) -> SpecId {
        let at = at.into();
        let config = self.config();
        let block = |fork: Option<u64>| fork.is_some_and(|n| n <= at.number);
        // Headers of time-based forks also hold a base fee. As in geth, none of them activates before London.
        let london = block(config.london_block);
        let time = |fork: Option<u64>| london && fork.is_some_and(|t| t <= at.timestamp);
        if at.merged && config.terminal_total_difficulty.is_some() {
            let later = [
                (config.osaka_time, SpecId::OSAKA),
                (config.prague_time, SpecId::PRAGUE),
                (config.cancun_time, SpecId::CANCUN),
                (config.shanghai_time, SpecId::SHANGHAI),
            ];
            return later.into_iter().find(|(t, _)| time(*t)).map_or(SpecId::MERGE, |(_, id)| id);
        }
        let earlier = [
            (config.london_block, SpecId::LONDON),
            (config.berlin_block, SpecId::BERLIN),
            (config.istanbul_block, SpecId::ISTANBUL),
            (config.petersburg_block, SpecId::PETERSBURG),
            // revm has no separate Constantinople, which differs only by [`Self::has_net_sstore_gas`].
            (config.constantinople_block, SpecId::PETERSBURG),
            (config.byzantium_block, SpecId::BYZANTIUM),
            (config.eip158_block.or(config.eip155_block), SpecId::SPURIOUS_DRAGON),
            (config.eip150_block, SpecId::TANGERINE),
            (config.homestead_block, SpecId::HOMESTEAD),
        ];
        earlier.into_iter().find(|(n, _)| block(*n)).map_or(SpecId::FRONTIER, |(_, id)| id)
    }

    /// Returns `true` if SSTORE is priced by EIP-1283: in Constantinople until Petersburg.
    ///
    /// As in geth, a chain without a Petersburg block has no such period.
    pub fn has_net_sstore_gas(&self, number: u64) -> bool {
        let config = self.config();
        let constantinople = config.constantinople_block.is_some_and(|first| first <= number);
        constantinople && config.petersburg_block.is_some_and(|first| number < first)
    }

    /// Returns the blob limits and the blob price parameters at `timestamp`; `None` before Cancun.
    pub fn blob_params(&self, timestamp: u64) -> Option<BlobParams> {
        let config = self.config();
        let active = |fork: Option<u64>| fork.is_some_and(|t| t <= timestamp);
        if active(config.osaka_time) {
            let scheduled = self.blobs.active_scheduled_params_at_timestamp(timestamp);
            Some(scheduled.copied().unwrap_or(self.blobs.osaka))
        } else if active(config.prague_time) {
            Some(self.blobs.prague)
        } else if active(config.cancun_time) {
            Some(self.blobs.cancun)
        } else {
            None
        }
    }

    /// Returns the gas limits allowed for the block after `parent`. The range
    /// is empty if the parent's limit is too low or too high. On an OP chain the driver sets the limit.
    pub fn gas_limits_after(&self, parent: &Header) -> RangeInclusive<u64> {
        if self.optimism.is_some() {
            return 0..=MAX_GAS_LIMIT;
        }
        // EIP-1559 doubles the limit at the fork, so the gas target equals the previous limit.
        let first = self.config().london_block == Some(parent.number.saturating_add(1));
        let before = if first { parent.gas_limit.saturating_mul(2) } else { parent.gas_limit };
        let step = (before / GAS_LIMIT_BOUND).saturating_sub(1);
        before.saturating_sub(step).max(MIN_GAS_LIMIT)..=before.saturating_add(step).min(MAX_GAS_LIMIT)
    }

    /// Returns the base fee (wei per gas) of the block after `parent` (EIP-1559), ignoring
    /// the chain's minimum. `None` before London. An OP chain has rules of its own.
    pub fn base_fee_after(&self, parent: &Header) -> Option<u64> {
        if let Some(optimism) = &self.optimism {
            return Some(optimism.base_fee_after(parent));
        }
        let london = self.config().london_block?;
        if parent.number.saturating_add(1) < london {
            return None;
        }
        Some(parent.next_block_base_fee(BaseFeeParams::ethereum()).unwrap_or(INITIAL_BASE_FEE))
    }

    /// Returns the base fee (wei per gas) of a block that this node produces:
    /// EIP-1559, but at least the chain's minimum.
    pub fn produced_base_fee(&self, parent: &Header) -> Option<u64> {
        self.base_fee_after(parent).map(|fee| fee.max(self.min_base_fee))
    }

    /// Returns the minimum base fee (wei per gas) of produced blocks; 0 if the chain sets none.
    pub fn min_base_fee(&self) -> u64 {
        self.min_base_fee
    }

    /// Returns the excess blob gas of the block after `parent` at `timestamp` (EIP-4844,
    /// EIP-7691, EIP-7918). `None` before Cancun. Zero on an OP chain, which has no blobs.
    pub fn excess_blob_gas_after(&self, parent: &Header, timestamp: u64) -> Option<u64> {
        if self.optimism.is_some() {
            return Some(0);
        }
        let params = self.blob_params(timestamp)?;
        Some(parent.next_block_excess_blob_gas(params).unwrap_or(0))
    }

    /// Returns the wei per blob gas in the block with `header`. `None` before Cancun.
    pub fn blob_base_fee(&self, header: &Header) -> Option<u128> {
        header.blob_fee(self.blob_params(header.timestamp)?)
    }

    /// Returns the base fee (wei per gas) and the blob base fee (wei per blob gas) of the block with
    /// `header`. A fee that the block does not have is zero.
    pub fn base_fees(&self, header: &Header) -> (u64, u128) {
        (header.base_fee_per_gas.unwrap_or(0), self.blob_base_fee(header).unwrap_or(0))
    }

    /// Returns EIP and address of each contract that every block from `timestamp` on must call (EIP-7002, EIP-7251) and
    /// that the genesis lacks. Without code there, no block is valid. An OP chain calls none.
    pub fn missing_request_contracts(&self, timestamp: u64) -> Vec<(u32, Address)> {
        let fork = self.fork(ForkPoint { number: 1, timestamp, merged: true });
        if self.optimism.is_some() || !fork.is_enabled_in(SpecId::PRAGUE) {
            return Vec::new();
        }
        let has_code = |address: &Address| {
            let account = self.genesis.alloc.get(address);
            account.and_then(|account| account.code.as_ref()).is_some_and(|code| !code.is_empty())
        };
        let contracts =
            [(7002, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS), (7251, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS)];
        contracts.into_iter().filter(|(_, address)| !has_code(address)).collect()
    }

    /// Returns the genesis header for a given state root. As in geth, only London and the fork times decide
    /// its fields, not its difficulty: many chains that were never mined have a nonzero one.
    pub fn genesis_header(&self, state_root: B256) -> Header {
        let genesis = &self.genesis;
        let fork = self.fork(ForkPoint { number: 0, timestamp: genesis.timestamp, merged: true });
        let shanghai = fork.is_enabled_in(SpecId::SHANGHAI);
        let cancun = fork.is_enabled_in(SpecId::CANCUN);
        let london = self.config().london_block == Some(0);
        let given_base_fee = genesis.base_fee_per_gas.and_then(|fee| u64::try_from(fee).ok());
        Header {
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: genesis.coinbase,
            state_root,
            difficulty: genesis.difficulty,
            gas_limit: genesis.gas_limit,
            timestamp: genesis.timestamp,
            extra_data: genesis.extra_data.clone(),
            mix_hash: genesis.mix_hash,
            nonce: genesis.nonce.into(),
            base_fee_per_gas: london.then(|| given_base_fee.unwrap_or(INITIAL_BASE_FEE)),
            withdrawals_root: shanghai.then_some(EMPTY_WITHDRAWALS),
            parent_beacon_block_root: cancun.then_some(B256::ZERO),
            blob_gas_used: cancun.then(|| genesis.blob_gas_used.unwrap_or(0)),
            excess_blob_gas: cancun.then(|| genesis.excess_blob_gas.unwrap_or(0)),
            requests_hash: fork.is_enabled_in(SpecId::PRAGUE).then_some(EMPTY_REQUESTS_HASH),
            ..Header::default()
        }
    }
}
