//! Transactions and receipts by hash.

use alloy_primitives::B256;
use foreseal_node::View;
use foreseal_state::StateError;
use foreseal_types::{Block, mutant};

use crate::{
    Argument, Context, Error, Kind, Method,
    blocks::NULL,
    json::{BlockOfReceipt, Inclusion, write_receipt, write_transaction},
    params::Params,
};

pub const METHODS: &[Method] = &[
    Method::inline(
        "eth_getTransactionByHash",
        &[Argument::required("hash", Kind::Hash)],
        get_transaction_by_hash,
    ),
    Method::inline(
        "eth_getTransactionReceipt",
        &[Argument::required("hash", Kind::Hash)],
        get_transaction_receipt,
    ),
];

/// From the request's view; else from the pool; else, as it may have gone from one to the other meanwhile, from the
/// newest view.
fn get_transaction_by_hash(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash = params.required()?;
    if let Some(included) = included(context.view()?, &hash)? {
        return Ok(included);
    }
    if let Some(pooled) = context.node.pool().get(&hash) {
        let mut out = Vec::new();
        write_transaction(&mut out, pooled.transaction(), None);
        return Ok(out);
    }
    if mutant!("pool-read-last") {
        return Ok(NULL.to_vec());
    }
    Ok(included(context.newest_view()?.as_ref(), &hash)?.unwrap_or_else(|| NULL.to_vec()))
}

fn included(view: &View, hash: &B256) -> Result<Option<Vec<u8>>, StateError> {
    let Some((found, index)) = view.transaction(hash)? else { return Ok(None) };
    Ok(found.block.transactions.get(index).map(|transaction| {
        let mut out = Vec::new();
        write_transaction(&mut out, transaction, Some(Inclusion::new(&found.block, index as u64)));
        out
    }))
}

fn get_transaction_receipt(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash = params.required()?;
    Ok(receipt_of(context.view()?, &hash)?.unwrap_or_else(|| NULL.to_vec()))
}

/// The receipt of a transaction that is in a block of `view`.
pub fn receipt_of(view: &View, hash: &B256) -> Result<Option<Vec<u8>>, StateError> {
    let Some((found, index)) = view.transaction(hash)? else { return Ok(None) };
    Ok(receipt(view, &found.block, index))
}

fn receipt(view: &View, block: &Block, index: usize) -> Option<Vec<u8>> {
    let (transaction, receipt) = (block.transactions.get(index)?, block.receipts.get(index)?);
    let mut out = Vec::new();
    let context = BlockOfReceipt::new(view.spec(), block);
    write_receipt(&mut out, &context, index as u64, transaction, receipt);
    Some(out)
}
