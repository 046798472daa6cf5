//! Validation of a header against its parent, its body and the rules, except the proof-of-work seal.

use alloy_consensus::{
    Header,
    constants::{EMPTY_OMMER_ROOT_HASH, MAXIMUM_EXTRA_DATA_SIZE},
};
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{B64, B256, U256, hex};
use foreseal_keccak::keccak;
use foreseal_primitives::{BlockBytes, ChainSpec, MAX_BLOCK_BYTES, OptimismFork, OptimismRules, SpecId};

use crate::{
    block_error::{BlockError, expect},
    difficulty::difficulty_after,
};

/// Extra data of the first ten blocks after the DAO's irregular state change (EIP-779).
const DAO_EXTRA_DATA: &[u8] = &hex!("64616f2d686172642d666f726b");

/// Performs all checks that are possible before the block is executed.
pub fn validate(spec: &ChainSpec, parent: &Header, block: &BlockBytes) -> Result<(), BlockError> {
    let header = &block.header;
    let fork = spec.fork(header);
    expect("parentHash", parent.hash_slow(), header.parent_hash)?;
    expect("number", parent.number + 1, header.number)?;
    if header.timestamp <= parent.timestamp {
        return Err(BlockError::field(
            "timestamp",
            format!("more than {}", parent.timestamp),
            header.timestamp,
        ));
    }
    validate_gas(spec, parent, header)?;
    validate_work(spec, parent, header, fork)?;
    if header.extra_data.len() > MAXIMUM_EXTRA_DATA_SIZE {
        let got = header.extra_data.len();
        return Err(BlockError::field("extraData", "at most 32 bytes".to_owned(), format!("{got} bytes")));
    }
    validate_dao(spec, header)?;
    validate_uncles(block, fork)?;
    if let Some(rules) = spec.optimism() {
        validate_optimism(rules, block)?;
    } else {
        validate_withdrawals(block, fork)?;
        validate_blobs(spec, parent, header, fork)?;
    }
    presence("parentBeaconBlockRoot", fork.is_enabled_in(SpecId::CANCUN), header.parent_beacon_block_root)?;
    presence("requestsHash", fork.is_enabled_in(SpecId::PRAGUE), header.requests_hash)?;
    presence("blockAccessListHash", fork.is_enabled_in(SpecId::AMSTERDAM), header.block_access_list_hash)?;
    presence("slotNumber", fork.is_enabled_in(SpecId::AMSTERDAM), header.slot_number)?;
    let size = alloy_rlp::Encodable::length(block);
    // The driver of an OP chain bounds its blocks.
    if fork.is_enabled_in(SpecId::OSAKA) && spec.optimism().is_none() && size > MAX_BLOCK_BYTES {
        return Err(BlockError::field("size", format!("at most {MAX_BLOCK_BYTES}"), size));
    }
    Ok(())
}

fn presence<T: std::fmt::Debug>(field: &'static str, wanted: bool, got: Option<T>) -> Result<(), BlockError> {
    match (wanted, got) {
        (true, None) => Err(BlockError::field(field, "a value".to_owned(), "none")),
        (false, Some(got)) => Err(BlockError::field(field, "none".to_owned(), format!("{got:?}"))),
        _ => Ok(()),
    }
}

fn validate_gas(spec: &ChainSpec, parent: &Header, header: &Header) -> Result<(), BlockError> {
    let limits = spec.gas_limits_after(parent);
    if !limits.contains(&header.gas_limit) {
        let expected = format!("from {} to {}", limits.start(), limits.end());
        return Err(BlockError::field("gasLimit", expected, header.gas_limit));
    }
    if header.gas_used > header.gas_limit {
        return Err(BlockError::field("gasUsed", format!("at most {}", header.gas_limit), header.gas_used));
    }
    expect("baseFeePerGas", Printed(spec.produced_base_fee(parent)), Printed(header.base_fee_per_gas))
}

fn validate_work(spec: &ChainSpec, parent: &Header, header: &Header, fork: SpecId) -> Result<(), BlockError> {
    if fork.is_enabled_in(SpecId::MERGE) {
        return expect("nonce", B64::ZERO, header.nonce);
    }
    let merged = parent.number > 0 && spec.fork(parent).is_enabled_in(SpecId::MERGE);
    if merged {
        return Err(BlockError::field("difficulty", U256::ZERO.to_string(), header.difficulty));
    }
    // Proof of authority has its own difficulty rules.
    if spec.config().clique.is_some() {
        return Ok(());
    }
    expect("difficulty", difficulty_after(spec, parent, header.timestamp), header.difficulty)
}

/// Checks that a block has proof of work before the terminal total difficulty is reached, and proof of stake after it
/// (EIP-3675). `total_difficulty` is that of the chain up to `parent`.
///
/// # Errors
/// Returns an error for the field `difficulty`.
pub fn validate_transition(
    spec: &ChainSpec,
    parent: &Header,
    total_difficulty: U256,
    header: &Header,
) -> Result<(), BlockError> {
    let Some(terminal) = spec.config().terminal_total_difficulty else { return Ok(()) };
    let is_reached = total_difficulty >= terminal;
    if is_reached && !header.difficulty.is_zero() {
        return Err(BlockError::field("difficulty", U256::ZERO.to_string(), header.difficulty));
    }
    if header.difficulty.is_zero() && !is_reached && !parent.difficulty.is_zero() {
        let expected = format!("proof of work until the total difficulty is {terminal}");
        return Err(BlockError::field("difficulty", expected, header.difficulty));
    }
    Ok(())
}

fn validate_dao(spec: &ChainSpec, header: &Header) -> Result<(), BlockError> {
    let config = spec.config();
    let Some(since) = config.dao_fork_block.and_then(|first| header.number.checked_sub(first)) else {
        return Ok(());
    };
    if !config.dao_fork_support || since >= 10 || header.extra_data.as_ref() == DAO_EXTRA_DATA {
        return Ok(());
    }
    Err(BlockError::field("extraData", "dao-hard-fork".to_owned(), &header.extra_data))
}

/// Checks the number, the hash and the distance of uncles, but not their headers.
fn validate_uncles(block: &BlockBytes, fork: SpecId) -> Result<(), BlockError> {
    let header = &block.header;
    let hash = if block.uncles.is_empty() {
        EMPTY_OMMER_ROOT_HASH
    } else {
        keccak(&alloy_rlp::encode(&block.uncles))
    };
    expect("sha3Uncles", hash, header.ommers_hash)?;
    let max = if fork.is_enabled_in(SpecId::MERGE) { 0 } else { 2 };
    if block.uncles.len() > max {
        return Err(BlockError::field("uncles", format!("at most {max}"), block.uncles.len()));
    }
    match block.uncles.iter().find(|uncle| !(1..=6).contains(&header.number.saturating_sub(uncle.number))) {
        Some(uncle) => {
            Err(BlockError::field("uncle number", format!("1 to 6 before {}", header.number), uncle.number))
        }
        None => Ok(()),
    }
}

fn validate_withdrawals(block: &BlockBytes, fork: SpecId) -> Result<(), BlockError> {
    let wanted = fork.is_enabled_in(SpecId::SHANGHAI);
    presence("withdrawals", wanted, block.withdrawals.as_ref())?;
    presence("withdrawalsRoot", wanted, block.header.withdrawals_root)?;
    let (Some(withdrawals), Some(got)) = (&block.withdrawals, block.header.withdrawals_root) else {
        return Ok(());
    };
    let items = withdrawals.iter().map(|withdrawal| alloy_rlp::encode(withdrawal).into());
    expect("withdrawalsRoot", foreseal_trie::ordered_trie_root(items), got)
}

fn validate_blobs(
    spec: &ChainSpec,
    parent: &Header,
    header: &Header,
    fork: SpecId,
) -> Result<(), BlockError> {
    let wanted = fork.is_enabled_in(SpecId::CANCUN);
    presence("blobGasUsed", wanted, header.blob_gas_used)?;
    presence("excessBlobGas", wanted, header.excess_blob_gas)?;
    let (Some(used), Some(params)) = (header.blob_gas_used, spec.blob_params(header.timestamp)) else {
        return Ok(());
    };
    let max = params.max_blob_gas_per_block();
    if used > max || used % DATA_GAS_PER_BLOB != 0 {
        let expected = format!("a multiple of {DATA_GAS_PER_BLOB} up to {max}");
        return Err(BlockError::field("blobGasUsed", expected, used));
    }
    let excess = spec.excess_blob_gas_after(parent, header.timestamp);
    expect("excessBlobGas", Printed(excess), Printed(header.excess_blob_gas))
}

/// Checks the fields that have another meaning on an OP chain. Its withdrawals root is known after the execution.
fn validate_optimism(rules: &OptimismRules, block: &BlockBytes) -> Result<(), BlockError> {
    let header = &block.header;
    let withdrawals = block.withdrawals.as_ref().map(|list| list.len());
    expect("withdrawals", Printed(Some(0)), Printed(withdrawals))?;
    presence("withdrawalsRoot", true, header.withdrawals_root)?;
    presence("blobGasUsed", true, header.blob_gas_used)?;
    expect("excessBlobGas", Printed(Some(0)), Printed(header.excess_blob_gas))?;
    if rules.fork() < OptimismFork::Jovian {
        expect("blobGasUsed", Printed(Some(0)), Printed(header.blob_gas_used))?;
    }
    rules
        .check_extra_data(&header.extra_data)
        .map_err(|expected| BlockError::field("extraData", expected.to_owned(), &header.extra_data))
}

/// An optional number in an error message.
#[derive(Clone, Copy, PartialEq)]
pub struct Printed<T>(pub Option<T>);

impl<T: std::fmt::Display> std::fmt::Display for Printed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// Compares the requests hash of the header with the computed one (EIP-7685).
pub fn validate_requests(computed: Option<B256>, header: &Header) -> Result<(), BlockError> {
    expect("requestsHash", Printed(computed), Printed(header.requests_hash))
}

/// Compares the withdrawals root of the header of an OP chain with the computed one (Isthmus).
pub fn validate_withdrawals_root(computed: B256, header: &Header) -> Result<(), BlockError> {
    expect("withdrawalsRoot", Printed(Some(computed)), Printed(header.withdrawals_root))
}
