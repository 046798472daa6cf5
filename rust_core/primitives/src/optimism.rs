//! The rules of an OP chain on which Isthmus and the forks before it are active from genesis.

use alloy_consensus::Header;
use alloy_eips::eip1559::{BaseFeeParams, calc_next_block_base_fee};
use alloy_genesis::Genesis;
use alloy_primitives::{B64, Bytes};
use op_alloy_consensus::{
    decode_eip_1559_params, decode_holocene_extra_data, decode_jovian_extra_data, encode_holocene_extra_data,
    encode_jovian_extra_data,
};
use serde::Deserialize;

use crate::genesis::GenesisError;

/// The newest fork of the OP stack that is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptimismFork {
    /// Prague, the operator fee, and the storage root of withdrawals.
    Isthmus,
    /// The minimum base fee and the footprint of data availability.
    Jovian,
    /// Osaka.
    Karst,
}

/// The rules of an OP chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimismRules {
    fork: OptimismFork,
    /// Parameters of the base fee if a block names none.
    base_fee: BaseFeeParams,
}

/// `config.optimism` of a genesis.
#[derive(Deserialize)]
struct OptimismConfig {
    #[serde(rename = "eip1559Elasticity")]
    elasticity: u64,
    #[serde(rename = "eip1559Denominator")]
    denominator: u64,
    /// Denominator since Canyon.
    #[serde(rename = "eip1559DenominatorCanyon")]
    denominator_canyon: Option<u64>,
}

/// Forks that must be active from genesis.
const REQUIRED: [&str; 7] =
    ["regolithTime", "canyonTime", "ecotoneTime", "fjordTime", "graniteTime", "holoceneTime", "isthmusTime"];

impl OptimismRules {
    /// Reads the rules; `None` if the genesis is not that of an OP chain.
    ///
    /// # Errors
    /// Returns an error if `config.optimism` is malformed, or if a fork is not active from genesis.
    pub(crate) fn read(genesis: &Genesis) -> Result<Option<Self>, GenesisError> {
        let config = &genesis.config;
        let Some(value) = config.extra_fields.get("optimism") else { return Ok(None) };
        let optimism: OptimismConfig = serde_json::from_value(value.clone())
            .map_err(|error| GenesisError::Optimism(error.to_string()))?;
        let denominator = optimism.denominator_canyon.unwrap_or(optimism.denominator);
        if denominator == 0 || optimism.elasticity == 0 {
            return Err(GenesisError::Optimism("denominators and elasticity must be at least 1".to_owned()));
        }
        let at_genesis = |name: &'static str| match config.extra_fields.get(name) {
            None => Ok(false),
            Some(time) if time.as_u64().is_some_and(|time| time <= genesis.timestamp) => Ok(true),
            Some(_) => Err(GenesisError::OptimismFork(name)),
        };
        for name in REQUIRED {
            if !at_genesis(name)? {
                return Err(GenesisError::OptimismFork(name));
            }
        }
        let fork = match (at_genesis("jovianTime")?, at_genesis("karstTime")?) {
            (false, false) => OptimismFork::Isthmus,
            (true, false) => OptimismFork::Jovian,
            (true, true) => OptimismFork::Karst,
            (false, true) => return Err(GenesisError::OptimismFork("jovianTime")),
        };
        let osaka = config.osaka_time.is_some_and(|time| time <= genesis.timestamp);
        if osaka != (fork == OptimismFork::Karst) {
            return Err(GenesisError::OptimismFork("osakaTime"));
        }
        let base_fee = BaseFeeParams::new(denominator.into(), optimism.elasticity.into());
        Ok(Some(Self { fork, base_fee }))
    }

    /// Returns the newest active fork.
    pub fn fork(&self) -> OptimismFork {
        self.fork
    }

    /// Returns the base fee (wei per gas) of the block after `parent`, whose extra data holds the parameters
    /// (OP specification, Holocene and Jovian).
    pub fn base_fee_after(&self, parent: &Header) -> u64 {
        let (params, minimum) = self.fee_parameters(parent);
        // From Jovian on, a block with much data counts as full.
        let footprint = if self.fork >= OptimismFork::Jovian { parent.blob_gas_used.unwrap_or(0) } else { 0 };
        let used = parent.gas_used.max(footprint);
        let fee = parent.base_fee_per_gas.unwrap_or(0);
        calc_next_block_base_fee(used, parent.gas_limit, fee, params).max(minimum)
    }

    /// Checks that the extra data of a block names the parameters of the base fee of the next one.
    ///
    /// # Errors
    /// Returns the expected form.
    pub fn check_extra_data(&self, extra_data: &[u8]) -> Result<(), &'static str> {
        match self.decode(extra_data) {
            Some((params, _)) if params.max_change_denominator > 0 && params.elasticity_multiplier > 0 => {
                Ok(())
            }
            _ if self.fork >= OptimismFork::Jovian => {
                Err("version 1, then denominator, elasticity and minimum base fee (17 bytes)")
            }
            _ => Err("version 0, then denominator and elasticity (9 bytes)"),
        }
    }

    /// Returns the extra data of a block that sets these parameters for the next one: denominator and elasticity, four
    /// bytes each, where zero stands for those of the chain, and the minimum base fee (wei per gas), which blocks
    /// before Jovian do not have (OP specification, Holocene and Jovian).
    ///
    /// # Errors
    /// Returns the reason if only one of the two is zero.
    pub fn extra_data(&self, params: B64, minimum: u64) -> Result<Bytes, &'static str> {
        let (elasticity, denominator) = decode_eip_1559_params(params);
        if (elasticity == 0) != (denominator == 0) {
            return Err("eip1559Params must have neither or both of denominator and elasticity zero");
        }
        let encoded = if self.fork >= OptimismFork::Jovian {
            encode_jovian_extra_data(params, self.base_fee, minimum)
        } else {
            encode_holocene_extra_data(params, self.base_fee)
        };
        encoded.map_err(|_| "the chain's own eip1559Params do not fit into 32 bits each")
    }

    /// Returns the base fee parameters and the minimum base fee that a block sets for the next one.
    fn fee_parameters(&self, header: &Header) -> (BaseFeeParams, u64) {
        match self.decode(&header.extra_data) {
            Some((params, minimum))
                if params.max_change_denominator > 0 && params.elasticity_multiplier > 0 =>
            {
                (params, minimum)
            }
            _ => (self.base_fee, 0),
        }
    }

    fn decode(&self, extra_data: &[u8]) -> Option<(BaseFeeParams, u64)> {
        let (elasticity, denominator, minimum) = if self.fork >= OptimismFork::Jovian {
            decode_jovian_extra_data(extra_data).ok()?
        } else {
            let (elasticity, denominator) = decode_holocene_extra_data(extra_data).ok()?;
            (elasticity, denominator, 0)
        };
        Some((BaseFeeParams::new(denominator.into(), elasticity.into()), minimum))
    }
}
