//! Payload attributes: requests of a driver to build a block.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B64, B256, Bytes};
use alloy_rlp::Encodable as _;
use foreseal_builder::NextBlockAttributes;
use foreseal_keccak::keccak;
use foreseal_node::PayloadRequest;
use foreseal_primitives::{ChainSpec, ForkPoint, OptimismFork, OptimismRules, SpecId, recover_all};
use serde::Deserialize;

use crate::{errors::EngineError, payload::decode_envelopes};

/// Payload attributes of every version, with the fields of OP chains (OP specification, "Extended
/// PayloadAttributesV3").
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildAttributes {
    #[serde(with = "alloy_serde::quantity")]
    pub timestamp: u64,
    prev_randao: B256,
    suggested_fee_recipient: Address,
    pub withdrawals: Option<Vec<Withdrawal>>,
    pub parent_beacon_block_root: Option<B256>,
    transactions: Option<Vec<Bytes>>,
    no_tx_pool: Option<bool>,
    #[serde(default, with = "alloy_serde::quantity::opt")]
    gas_limit: Option<u64>,
    #[serde(rename = "eip1559Params")]
    eip1559_params: Option<Bytes>,
    /// Wei per gas; a JSON number.
    min_base_fee: Option<u64>,
}

/// Parent and defaults of a block to build.
#[derive(Clone, Copy, Debug)]
pub struct BuildContext<'a> {
    pub spec: &'a ChainSpec,
    pub parent: B256,
    pub parent_timestamp: u64,
    /// Gas limit of a plain chain.
    pub gas_limit: u64,
    /// Extra data of a plain chain.
    pub extra_data: &'a Bytes,
}

impl BuildAttributes {
    /// Returns the fork of the block.
    pub fn fork(&self, spec: &ChainSpec) -> SpecId {
        // All forks after the merge have times.
        spec.fork(ForkPoint { number: u64::MAX, timestamp: self.timestamp, merged: true })
    }

    /// Returns the request to build a block with these attributes.
    ///
    /// # Errors
    /// Returns [`EngineError::Attributes`] if no block can have them.
    pub fn into_request(self, context: &BuildContext<'_>) -> Result<PayloadRequest, EngineError> {
        if self.timestamp <= context.parent_timestamp {
            let (given, parent) = (self.timestamp, context.parent_timestamp);
            return Err(wrong(format!("timestamp {given} is not after that of the parent, {parent}")));
        }
        let (gas_limit, extra_data) = match context.spec.optimism() {
            Some(rules) => self.optimism_fields(rules)?,
            None => self.plain_fields(context)?,
        };
        let raw = self.transactions.unwrap_or_default();
        let uses_pool = !self.no_tx_pool.unwrap_or(false);
        let envelopes = decode_envelopes(&raw)
            .map_err(|(index, reason)| wrong(format!("transaction {index} is not valid: {reason}")))?;
        let transactions = recover_all(envelopes).map_err(|error| wrong(format!("transactions: {error}")))?;
        let attributes = NextBlockAttributes {
            merged: true,
            timestamp: self.timestamp,
            mix_hash: self.prev_randao,
            beneficiary: self.suggested_fee_recipient,
            gas_limit,
            extra_data,
            exact_gas_limit: None,
            base_fee: None,
            parent_beacon_block_root: self.parent_beacon_block_root.unwrap_or_default(),
            withdrawals: Vec::new(),
            transactions,
        };
        Ok(PayloadRequest { id: payload_id(context.parent, &attributes, uses_pool), attributes, uses_pool })
    }

    /// Returns gas limit and extra data of a block of an OP chain.
    fn optimism_fields(&self, rules: &OptimismRules) -> Result<(u64, Bytes), EngineError> {
        if self.withdrawals.as_ref().is_some_and(|list| !list.is_empty()) {
            return Err(wrong("withdrawals must be an empty list on an OP chain"));
        }
        let gas_limit = self.gas_limit.ok_or_else(|| wrong("gasLimit is missing"))?;
        let params: &[u8] = self.eip1559_params.as_ref().map_or(&[], |params| params);
        let params = B64::try_from(params)
            .map_err(|_| wrong(format!("eip1559Params must have 8 bytes, got {}", params.len())))?;
        let minimum = match (self.min_base_fee, rules.fork() >= OptimismFork::Jovian) {
            (Some(minimum), true) => minimum,
            (None, false) => 0,
            (None, true) => return Err(wrong("minBaseFee is missing (Jovian)")),
            (Some(_), false) => return Err(wrong("minBaseFee is not allowed before Jovian")),
        };
        let extra_data = rules.extra_data(params, minimum).map_err(wrong)?;
        Ok((gas_limit, extra_data))
    }

    /// Returns gas limit and extra data of a block of a chain without a rollup.
    fn plain_fields(&self, context: &BuildContext<'_>) -> Result<(u64, Bytes), EngineError> {
        if self.withdrawals.as_ref().is_some_and(|list| !list.is_empty()) {
            return Err(wrong("this node builds no blocks with withdrawals"));
        }
        if self.eip1559_params.is_some() || self.min_base_fee.is_some() {
            return Err(wrong("eip1559Params and minBaseFee are allowed on OP chains only"));
        }
        Ok((self.gas_limit.unwrap_or(context.gas_limit), context.extra_data.clone()))
    }
}

fn wrong(reason: impl Into<String>) -> EngineError {
    EngineError::Attributes(reason.into())
}

/// Returns the id of a payload: the same for the same attributes on the same parent.
fn payload_id(parent: B256, attributes: &NextBlockAttributes, uses_pool: bool) -> B64 {
    let mut bytes = Vec::with_capacity(256 + 32 * attributes.transactions.len());
    parent.encode(&mut bytes);
    attributes.timestamp.encode(&mut bytes);
    attributes.mix_hash.encode(&mut bytes);
    attributes.beneficiary.encode(&mut bytes);
    attributes.gas_limit.encode(&mut bytes);
    attributes.extra_data.encode(&mut bytes);
    attributes.parent_beacon_block_root.encode(&mut bytes);
    uses_pool.encode(&mut bytes);
    for transaction in &attributes.transactions {
        bytes.extend_from_slice(transaction.hash().as_slice());
    }
    let mut id = B64::from_slice(&keccak(&bytes)[..8]);
    // Its first byte is the version of the attributes, as with other engines.
    id[0] = 3;
    id
}
