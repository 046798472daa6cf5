//! Blocks, headers, receipts and transactions in their consensus encodings.

use std::sync::Arc;

use alloy_rlp::Encodable;
use foreseal_chain::ExecutedBlock;

use crate::{
    Argument, Context, Error, Kind, Method,
    blocks::{answer, by_hash, transaction_at},
    json::{write_data, write_list},
    params::Params,
    transactions::{FoundTransaction, find},
};

const BLOCK: Argument = Argument::block("block");
const BLOCK_BEFORE_INDEX: Argument = Argument::required("block", Kind::Block);
const HASH: Argument = Argument::required("hash", Kind::Hash);
const INDEX: Argument = Argument::required("index", Kind::Quantity);

pub const METHODS: &[Method] = &[
    Method::worker_pool("debug_getRawBlock", &[BLOCK], raw_block).in_read_lane(),
    Method::worker_pool("debug_getRawHeader", &[BLOCK], raw_header).in_read_lane(),
    Method::worker_pool("debug_getRawReceipts", &[BLOCK], raw_receipts).in_read_lane(),
    Method::worker_pool("debug_getRawTransaction", &[HASH], raw_transaction).in_read_lane(),
    Method::worker_pool("eth_getRawTransactionByHash", &[HASH], raw_transaction).in_read_lane(),
    Method::worker_pool("eth_getRawTransactionByBlockHashAndIndex", &[HASH, INDEX], raw_by_hash_and_index)
        .in_read_lane(),
    Method::worker_pool(
        "eth_getRawTransactionByBlockNumberAndIndex",
        &[BLOCK_BEFORE_INDEX, INDEX],
        raw_by_number_and_index,
    )
    .in_read_lane(),
];

/// Result for a transaction that does not exist: the execution API has no `null` here.
const NO_BYTES: &[u8] = b"\"0x\"";

fn raw_block(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let found = block(context, params)?;
    let mut rlp = Vec::with_capacity(found.block.size());
    found.block.encode(&mut rlp);
    Ok(data(&rlp))
}

fn raw_header(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let found = block(context, params)?;
    let mut rlp = Vec::with_capacity(found.block.header.length());
    found.block.header.encode(&mut rlp);
    Ok(data(&rlp))
}

/// Returns each receipt in its EIP-2718 encoding, as in the receipts trie.
fn raw_receipts(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let found = block(context, params)?;
    let (mut out, mut bytes) = (Vec::new(), Vec::new());
    write_list(&mut out, &found.block.receipts, |out, receipt| {
        bytes.clear();
        receipt.encode_2718(&mut bytes);
        write_data(out, &bytes);
    });
    Ok(out)
}

/// Returns the EIP-2718 encoding of a transaction.
///
/// An included transaction is encoded as in its block, a pooled one as it was submitted, with its blobs. The
/// lookup order is that of `eth_getTransactionByHash`.
fn raw_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    Ok(match find(context, &params.required()?)? {
        Some(FoundTransaction::Included { transaction, .. }) => data(transaction.encoded()),
        Some(FoundTransaction::Pooled(pooled)) => data(&pooled.encoded()),
        None => NO_BYTES.to_vec(),
    })
}

fn raw_by_hash_and_index(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (id, index) = (by_hash(params)?, params.required()?);
    answer(context, id, |_, found| raw_at(found, index))
}

fn raw_by_number_and_index(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (id, index) = (params.block_or_latest()?, params.required()?);
    answer(context, id, |_, found| raw_at(found, index))
}

fn raw_at(found: &ExecutedBlock, index: u64) -> Vec<u8> {
    transaction_at(found, index).map_or_else(|| NO_BYTES.to_vec(), |transaction| data(transaction.encoded()))
}

/// Reads the block of the next argument. The execution API has no `null` for a block that does not exist.
fn block(context: &Context<'_>, params: &mut Params<'_>) -> Result<Arc<ExecutedBlock>, Error> {
    Ok(context.view()?.resolve(params.block_or_latest()?)?)
}

fn data(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * bytes.len() + 4);
    write_data(&mut out, bytes);
    out
}
