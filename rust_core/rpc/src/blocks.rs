//! Blocks and their receipts.

use bytes::Bytes;
use foreseal_chain::{BlockId, ExecutedBlock, ResolveError, View};
use foreseal_primitives::Transaction;

use crate::{
    Argument, Context, Error, Kind, Method,
    block_json_cache::BlockPart,
    json::{BlockOfReceipt, NULL, write_block, write_list, write_receipt},
    params::Params,
};

pub const METHODS: &[Method] = &[
    Method::fast_path_shared(
        "eth_getBlockByNumber",
        &[Argument::required("block", Kind::Block), Argument::required("fullTransactions", Kind::Boolean)],
        get_block_by_number,
    ),
    Method::fast_path_shared(
        "eth_getBlockByHash",
        &[Argument::required("hash", Kind::Hash), Argument::required("fullTransactions", Kind::Boolean)],
        get_block_by_hash,
    ),
    Method::fast_path_shared("eth_getBlockReceipts", &[Argument::block("block")], get_block_receipts),
];

fn get_block_by_number(context: &Context<'_>, params: &mut Params<'_>) -> Result<Bytes, Error> {
    let (id, full) = (params.block_or_latest()?, params.required()?);
    block(context, id, full)
}

fn get_block_by_hash(context: &Context<'_>, params: &mut Params<'_>) -> Result<Bytes, Error> {
    let (id, full) = (by_hash(params)?, params.required()?);
    block(context, id, full)
}

fn block(context: &Context<'_>, id: BlockId, full: bool) -> Result<Bytes, Error> {
    let part = if full { BlockPart::Full } else { BlockPart::Hashes };
    answer(context, id, |_, found| {
        context.caches.blocks.get_or_write(found.block.hash, part, || block_json(found, full))
    })
}

fn get_block_receipts(context: &Context<'_>, params: &mut Params<'_>) -> Result<Bytes, Error> {
    answer(context, params.block_or_latest()?, |view, found| {
        context
            .caches
            .blocks
            .get_or_write(found.block.hash, BlockPart::Receipts, || receipts_json(view, found))
    })
}

/// Reads a hash parameter that identifies a block or a step.
pub fn by_hash(params: &mut Params<'_>) -> Result<BlockId, Error> {
    Ok(BlockId::Hash { hash: params.required()?, require_canonical: false })
}

/// Returns the transaction at this index of the block, or `None` beyond the last one.
pub fn transaction_at(found: &ExecutedBlock, index: u64) -> Option<&Transaction> {
    let index = usize::try_from(index).ok()?;
    found.block.transactions.get(index).map(AsRef::as_ref)
}

/// Applies `write` to the block with this id. Returns `null` if it does not exist.
pub fn answer<T: From<&'static [u8]>>(
    context: &Context<'_>,
    id: BlockId,
    write: impl FnOnce(&View, &ExecutedBlock) -> T,
) -> Result<T, Error> {
    let view = context.view()?;
    match context.block(view, id) {
        Ok(found) => Ok(write(view, &found)),
        Err(Error::Resolve(ResolveError::NotFound)) => Ok(NULL.into()),
        Err(error) => Err(error),
    }
}

/// Initial buffer capacities in bytes: for a block, and for each of its hashes, transactions or receipts.
const BLOCK_ROOM: usize = 2048;
const HASH_ROOM: usize = 70;
const TRANSACTION_ROOM: usize = 1024;
const RECEIPT_ROOM: usize = 1536;

fn block_json(found: &ExecutedBlock, full: bool) -> Vec<u8> {
    let each = if full { TRANSACTION_ROOM } else { HASH_ROOM };
    let mut out = Vec::with_capacity(BLOCK_ROOM + each * found.block.transactions.len());
    write_block(&mut out, &found.block, full);
    out
}

fn receipts_json(view: &View, found: &ExecutedBlock) -> Vec<u8> {
    let block = &found.block;
    let context = BlockOfReceipt::new(view.spec(), block);
    let mut out = Vec::with_capacity(RECEIPT_ROOM * block.receipts.len() + 2);
    let rows = (0..).zip(block.transactions.iter().zip(&block.receipts));
    write_list(&mut out, rows, |out, (index, (transaction, receipt))| {
        write_receipt(out, &context, index, transaction, receipt);
    });
    out
}
