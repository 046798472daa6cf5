//! Blocks, headers, receipts and transactions in their consensus encodings.

use std::sync::Arc;

use alloy_rlp::Encodable;
use foreseal_chain::{BlockCounts, ExecutedBlock};

use super::{
    blocks::{answer, by_hash, check_counts, transaction_at},
    method::Method,
    transactions::{FoundTransaction, find},
};
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{
        answer_size::{SizeBounds, data_size, min_raw_receipts_size},
        hex::write_data,
        object::write_list,
        pace::paced,
    },
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
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
    let executed = block(context, params, false, |counts| data_size(counts.transactions_length))?;
    let size = executed.block.size();
    context.check_size(SizeBounds::exact(data_size(size)), false)?;
    let mut rlp = Vec::with_capacity(size);
    executed.block.encode(&mut rlp);
    Ok(data(&rlp))
}

fn raw_header(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = params.block_or_latest()?;
    let header_and_state = context.view()?.header_and_state(id)?;
    let mut rlp = Vec::with_capacity(header_and_state.header().length());
    header_and_state.header().encode(&mut rlp);
    Ok(data(&rlp))
}

/// Returns each receipt in its EIP-2718 encoding, as in the receipts trie.
fn raw_receipts(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let executed = block(context, params, true, min_raw_receipts_size)?;
    context.check_size(SizeBounds::raw_receipts(&executed.block), true)?;
    let (mut out, mut bytes) = (Vec::new(), Vec::new());
    write_list(&mut out, paced(&executed.block.receipts), |out, receipt| {
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
    match find(context, &params.required()?)? {
        Some(FoundTransaction::Included { transaction, .. } | FoundTransaction::Unsealed(transaction)) => {
            sized(context, transaction.encoded())
        }
        Some(FoundTransaction::Pooled(pooled)) => sized(context, &pooled.encoded()),
        None => Ok(NO_BYTES.to_vec()),
    }
}

fn raw_by_hash_and_index(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (id, index) = (by_hash(params)?, params.required()?);
    answer(context, id, |_, block| raw_at(context, block, index))
}

fn raw_by_number_and_index(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (id, index) = (params.block_or_latest()?, params.required()?);
    answer(context, id, |_, block| raw_at(context, block, index))
}

fn raw_at(context: &Context<'_>, executed: &ExecutedBlock, index: u64) -> Result<Vec<u8>, Error> {
    match transaction_at(executed, index) {
        Some(transaction) => sized(context, transaction.encoded()),
        None => Ok(NO_BYTES.to_vec()),
    }
}

/// Reads the block of the next argument, unless its result has at least a size beyond the caller's limit. The
/// execution API has no `null` for a block that does not exist.
fn block(
    context: &Context<'_>,
    params: &mut Params<'_>,
    has_logs: bool,
    min_size: impl FnOnce(&BlockCounts) -> usize,
) -> Result<Arc<ExecutedBlock>, Error> {
    let id = params.block_or_latest()?;
    check_counts(context, id, has_logs, min_size)?;
    Ok(context.view()?.resolve(id)?)
}

/// Returns bytes in hex if their size is within the limits.
fn sized(context: &Context<'_>, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    context.check_size(SizeBounds::exact(data_size(bytes.len())), false)?;
    Ok(data(bytes))
}

fn data(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data_size(bytes.len()));
    write_data(&mut out, bytes);
    out
}
