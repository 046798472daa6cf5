//! Execution payloads: blocks in the JSON of the Engine API.

use alloy_consensus::{Header, constants::EMPTY_OMMER_ROOT_HASH};
use alloy_eips::{
    eip4895::{Withdrawal, Withdrawals},
    eip7685::{EMPTY_REQUESTS_HASH, Requests},
};
use alloy_primitives::{Address, B256, Bloom, Bytes, U256};
use foreseal_primitives::{Block, BlockBytes, ChainSpec, Envelope, ForkPoint, SpecId, Transaction};
use foreseal_trie::ordered_trie_root;
use serde::{Deserialize, Serialize};

/// Execution payload of every version. A version that lacks a field has `None`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionPayload {
    parent_hash: B256,
    fee_recipient: Address,
    state_root: B256,
    receipts_root: B256,
    logs_bloom: Bloom,
    prev_randao: B256,
    #[serde(with = "alloy_serde::quantity")]
    block_number: u64,
    #[serde(with = "alloy_serde::quantity")]
    gas_limit: u64,
    #[serde(with = "alloy_serde::quantity")]
    gas_used: u64,
    #[serde(with = "alloy_serde::quantity")]
    pub timestamp: u64,
    extra_data: Bytes,
    base_fee_per_gas: U256,
    block_hash: B256,
    transactions: Vec<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawals: Option<Vec<Withdrawal>>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "alloy_serde::quantity::opt")]
    pub blob_gas_used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "alloy_serde::quantity::opt")]
    pub excess_blob_gas: Option<u64>,
    /// Storage root of the message passer (OP specification, Isthmus).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawals_root: Option<B256>,
}

/// Parts of a block that newPayload receives in addition to the payload.
#[derive(Clone, Debug, Default)]
pub struct PayloadSidecar {
    pub versioned_hashes: Vec<B256>,
    pub parent_beacon_block_root: Option<B256>,
    pub requests: Vec<Bytes>,
}

impl ExecutionPayload {
    /// Returns the payload of a block.
    pub fn of_block(block: &Block, is_optimism: bool) -> Self {
        let header = &block.header;
        Self {
            parent_hash: header.parent_hash,
            fee_recipient: header.beneficiary,
            state_root: header.state_root,
            receipts_root: header.receipts_root,
            logs_bloom: header.logs_bloom,
            prev_randao: header.mix_hash,
            block_number: header.number,
            gas_limit: header.gas_limit,
            gas_used: header.gas_used,
            timestamp: header.timestamp,
            extra_data: header.extra_data.clone(),
            base_fee_per_gas: U256::from(header.base_fee_per_gas.unwrap_or(0)),
            block_hash: block.hash,
            transactions: block.transactions.iter().map(|one| one.encoded().clone()).collect(),
            withdrawals: block.withdrawals.as_ref().map(|list| list.to_vec()),
            blob_gas_used: header.blob_gas_used,
            excess_blob_gas: header.excess_blob_gas,
            withdrawals_root: header.withdrawals_root.filter(|_| is_optimism),
        }
    }

    /// Returns the fork of the block.
    pub fn fork(&self, spec: &ChainSpec) -> SpecId {
        spec.fork(ForkPoint { number: self.block_number, timestamp: self.timestamp, merged: true })
    }

    /// Returns the block of the payload, not executed.
    ///
    /// # Errors
    /// Returns the reason if the payload and its sidecar are not a block, or not the one that the payload names.
    pub fn into_block(self, spec: &ChainSpec, sidecar: &PayloadSidecar) -> Result<BlockBytes, String> {
        let fork = self.fork(spec);
        let withdrawals = self.withdrawals.map(Withdrawals::new);
        let withdrawals_root = match spec.optimism() {
            Some(rules) => {
                if withdrawals.as_ref().is_none_or(|list| !list.is_empty()) {
                    return Err("withdrawals must be an empty list on an OP chain".to_owned());
                }
                if !sidecar.requests.is_empty() {
                    return Err("execution requests must be empty on an OP chain".to_owned());
                }
                rules
                    .check_extra_data(&self.extra_data)
                    .map_err(|expected| format!("extraData must be {expected}"))?;
                Some(self.withdrawals_root.ok_or("withdrawalsRoot is missing (Isthmus)")?)
            }
            None => withdrawals
                .as_ref()
                .map(|list| ordered_trie_root(list.iter().map(|one| alloy_rlp::encode(one).into()))),
        };
        let envelopes = decode_envelopes(&self.transactions)
            .map_err(|(index, reason)| format!("invalid transaction {index}: {reason}"))?;
        check_versioned_hashes(&envelopes, &sidecar.versioned_hashes)?;
        let base_fee = u64::try_from(self.base_fee_per_gas)
            .map_err(|_| "baseFeePerGas does not fit into 64 bits".to_owned())?;
        let header = Header {
            parent_hash: self.parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: self.fee_recipient,
            state_root: self.state_root,
            transactions_root: ordered_trie_root(self.transactions),
            receipts_root: self.receipts_root,
            logs_bloom: self.logs_bloom,
            number: self.block_number,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            timestamp: self.timestamp,
            extra_data: self.extra_data,
            mix_hash: self.prev_randao,
            base_fee_per_gas: Some(base_fee),
            withdrawals_root,
            blob_gas_used: self.blob_gas_used,
            excess_blob_gas: self.excess_blob_gas,
            parent_beacon_block_root: sidecar.parent_beacon_block_root,
            requests_hash: fork.is_enabled_in(SpecId::PRAGUE).then(|| requests_hash(&sidecar.requests)),
            ..Header::default()
        };
        let hash = header.hash_slow();
        if hash != self.block_hash {
            return Err(format!("blockHash is {}, but the payload has hash {hash}", self.block_hash));
        }
        Ok(BlockBytes { header, transactions: envelopes, uncles: Vec::new(), withdrawals })
    }
}

fn requests_hash(requests: &[Bytes]) -> B256 {
    if requests.is_empty() {
        return EMPTY_REQUESTS_HASH;
    }
    Requests::new(requests.to_vec()).requests_hash()
}

/// Decodes transactions of a block.
///
/// # Errors
/// Returns the index of the first one that is none, and the reason.
pub fn decode_envelopes(raw: &[Bytes]) -> Result<Vec<Envelope>, (usize, String)> {
    let decode = |(index, bytes): (usize, &Bytes)| {
        Transaction::decode_envelope(bytes).map_err(|error| (index, error.to_string()))
    };
    raw.iter().enumerate().map(decode).collect()
}

/// Checks that the blob hashes of the transactions are those that came with the payload, in order (EIP-4844).
fn check_versioned_hashes(envelopes: &[Envelope], given: &[B256]) -> Result<(), String> {
    use alloy_consensus::Transaction as _;
    let hashes = envelopes.iter().filter_map(|one| one.blob_versioned_hashes()).flatten();
    if hashes.eq(given.iter()) {
        Ok(())
    } else {
        Err("the versioned hashes are not those of the blobs of the transactions".to_owned())
    }
}
