//! Contents of a block: transaction and uncle counts, and single transactions by index.

use foreseal_chain::ExecutedBlock;

use super::{
    blocks::{answer, by_hash, transaction_at},
    method::Method,
};
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{
        hex::write_quantity,
        object::NULL,
        transaction::{Inclusion, write_transaction},
    },
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

const HASH: Argument = Argument::required("hash", Kind::Hash);
const BLOCK: Argument = Argument::block("block");
const BLOCK_BEFORE_INDEX: Argument = Argument::required("block", Kind::Block);
const INDEX: Argument = Argument::required("index", Kind::Quantity);

pub const METHODS: &[Method] = &[
    Method::fast_path("eth_getBlockTransactionCountByHash", &[HASH], transaction_count_by_hash),
    Method::fast_path("eth_getBlockTransactionCountByNumber", &[BLOCK], transaction_count_by_number),
    Method::fast_path("eth_getUncleCountByBlockHash", &[HASH], uncle_count_by_hash),
    Method::fast_path("eth_getUncleCountByBlockNumber", &[BLOCK], uncle_count_by_number),
    Method::fast_path("eth_getTransactionByBlockHashAndIndex", &[HASH, INDEX], transaction_by_hash_and_index),
    Method::fast_path(
        "eth_getTransactionByBlockNumberAndIndex",
        &[BLOCK_BEFORE_INDEX, INDEX],
        transaction_by_number_and_index,
    ),
];

fn transaction_count_by_hash(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = by_hash(params)?;
    answer(context, id, |_, block| Ok(transaction_count(block)))
}

fn transaction_count_by_number(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    answer(context, params.block_or_latest()?, |_, block| Ok(transaction_count(block)))
}

fn uncle_count_by_hash(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = by_hash(params)?;
    answer(context, id, |_, block| Ok(uncle_count(block)))
}

fn uncle_count_by_number(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    answer(context, params.block_or_latest()?, |_, block| Ok(uncle_count(block)))
}

fn transaction_by_hash_and_index(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (id, index) = (by_hash(params)?, params.required()?);
    answer(context, id, |_, block| transaction(context, block, index))
}

fn transaction_by_number_and_index(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (id, index) = (params.block_or_latest()?, params.required()?);
    answer(context, id, |_, block| transaction(context, block, index))
}

fn transaction_count(executed: &ExecutedBlock) -> Vec<u8> {
    count(executed.block.transactions.len())
}

fn uncle_count(executed: &ExecutedBlock) -> Vec<u8> {
    count(executed.block.uncles.len())
}

fn count(length: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(20);
    write_quantity(&mut out, u64::try_from(length).expect("a length in memory fits 64 bits"));
    out
}

/// Returns the transaction at this index as JSON, or `null` beyond the last one.
fn transaction(context: &Context<'_>, executed: &ExecutedBlock, index: u64) -> Result<Vec<u8>, Error> {
    let Some(transaction) = transaction_at(executed, index) else { return Ok(NULL.to_vec()) };
    context.check_transaction_size(transaction)?;
    let mut out = Vec::with_capacity(1024);
    write_transaction(&mut out, transaction, Some(Inclusion::new(&executed.block, index)));
    Ok(out)
}
