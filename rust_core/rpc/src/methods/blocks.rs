//! Blocks and their receipts.

use bytes::Bytes;
use foreseal_chain::{BlockCounts, BlockId, ExecutedBlock, ResolveError, View};
use foreseal_primitives::{Block, Transaction};

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{
        answer_size::{SizeBounds, min_block_size, min_receipts_size},
        block::write_block,
        block_json_cache::BlockPart,
        object::{NULL, write_list},
        pace::paced,
        receipt::{BlockOfReceipt, write_receipt},
    },
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
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
    let part = if full { FULL } else { HASHES };
    check_counts(context, id, part.has_logs, part.min)?;
    answer(context, id, |_, block| cached(context, block, part, || block_json(block, full)))
}

/// Rejects a block that is too large by its counts alone, before it is read.
pub fn check_counts(
    context: &Context<'_>,
    id: BlockId,
    has_logs: bool,
    min_size: impl FnOnce(&BlockCounts) -> usize,
) -> Result<(), Error> {
    // An attempt reads only blocks in memory, whose counts are checked with them.
    if context.is_attempt() {
        return Ok(());
    }
    match context.view()?.counts(id) {
        Ok(Some(counts)) => context.check_min_size(min_size(&counts), has_logs),
        Ok(None) | Err(ResolveError::NotFound) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn get_block_receipts(context: &Context<'_>, params: &mut Params<'_>) -> Result<Bytes, Error> {
    let id = params.block_or_latest()?;
    check_counts(context, id, true, RECEIPTS.min)?;
    answer(context, id, |view, block| cached(context, block, RECEIPTS, || receipts_json(view, block)))
}

/// Part of a block, and the bounds of its size.
#[derive(Clone, Copy)]
struct SizedPart {
    part: BlockPart,
    /// Lower bound without the content.
    min: fn(&BlockCounts) -> usize,
    /// Bounds with the content.
    bounds: fn(&Block) -> SizeBounds,
    has_logs: bool,
}

const HASHES: SizedPart = SizedPart {
    part: BlockPart::Hashes,
    min: |counts| min_block_size(counts, false),
    bounds: |block| SizeBounds::block(block, false),
    has_logs: false,
};
const FULL: SizedPart = SizedPart {
    part: BlockPart::Full,
    min: |counts| min_block_size(counts, true),
    bounds: |block| SizeBounds::block(block, true),
    has_logs: false,
};
const RECEIPTS: SizedPart = SizedPart {
    part: BlockPart::Receipts,
    min: min_receipts_size,
    bounds: SizeBounds::receipts,
    has_logs: true,
};

/// Returns a part of a block from the cache, or renders it if its size is within the limits.
fn cached(
    context: &Context<'_>,
    executed: &ExecutedBlock,
    sized: SizedPart,
    render: impl FnOnce() -> Vec<u8>,
) -> Result<Bytes, Error> {
    let (cache, hash) = (&context.caches.blocks, executed.block.hash);
    let SizedPart { part, min, bounds, has_logs } = sized;
    if let Some(json) = cache.get(hash, part) {
        context.check_min_size(json.len(), has_logs)?;
        return Ok(json);
    }
    context.check_min_size(min(&BlockCounts::new(executed)), has_logs)?;
    context.check_size(bounds(&executed.block), has_logs)?;
    // Drops spare capacity, which would otherwise occupy memory as long as the entry.
    let json = Bytes::from(render().into_boxed_slice());
    cache.insert(hash, part, json.clone());
    Ok(json)
}

/// Reads a hash parameter that identifies a block or a step.
pub fn by_hash(params: &mut Params<'_>) -> Result<BlockId, Error> {
    Ok(BlockId::Hash { hash: params.required()?, require_canonical: false })
}

/// Returns the transaction at this index of the block, or `None` beyond the last one.
pub fn transaction_at(executed: &ExecutedBlock, index: u64) -> Option<&Transaction> {
    let index = usize::try_from(index).ok()?;
    executed.block.transactions.get(index).map(AsRef::as_ref)
}

/// Applies `write` to the block with this id. Returns `null` if it does not exist.
pub fn answer<T: From<&'static [u8]>>(
    context: &Context<'_>,
    id: BlockId,
    write: impl FnOnce(&View, &ExecutedBlock) -> Result<T, Error>,
) -> Result<T, Error> {
    let view = context.view()?;
    match context.block(view, id) {
        Ok(block) => write(view, &block),
        Err(Error::Resolve(ResolveError::NotFound)) => Ok(NULL.into()),
        Err(error) => Err(error),
    }
}

/// Initial buffer capacities in bytes: for a block, and for each of its hashes, transactions or receipts.
const BLOCK_ROOM: usize = 2048;
const HASH_ROOM: usize = 70;
const TRANSACTION_ROOM: usize = 1024;
const RECEIPT_ROOM: usize = 1536;

fn block_json(executed: &ExecutedBlock, full: bool) -> Vec<u8> {
    let each = if full { TRANSACTION_ROOM } else { HASH_ROOM };
    let mut out = Vec::with_capacity(BLOCK_ROOM + each * executed.block.transactions.len());
    write_block(&mut out, &executed.block, full);
    out
}

fn receipts_json(view: &View, executed: &ExecutedBlock) -> Vec<u8> {
    let block = &executed.block;
    let context = BlockOfReceipt::new(view.spec(), block);
    let mut out = Vec::with_capacity(RECEIPT_ROOM * block.receipts.len() + 2);
    let rows = (0..).zip(paced(block.transactions.iter().zip(&block.receipts)));
    write_list(&mut out, rows, |out, (index, (transaction, receipt))| {
        write_receipt(out, &context, index, transaction, receipt);
    });
    out
}
