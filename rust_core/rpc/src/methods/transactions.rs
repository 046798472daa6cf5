//! Transactions and receipts by hash.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_chain::{ExecutedBlock, View};
use foreseal_pool::PooledTransaction;
use foreseal_primitives::Transaction;

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{
        object::NULL,
        transaction::{Inclusion, write_transaction},
    },
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
    streams::receipt::receipt,
};

pub const METHODS: &[Method] = &[
    Method::fast_path(
        "eth_getTransactionByHash",
        &[Argument::required("hash", Kind::Hash)],
        get_transaction_by_hash,
    ),
    Method::fast_path(
        "eth_getTransactionReceipt",
        &[Argument::required("hash", Kind::Hash)],
        get_transaction_receipt,
    ),
];

fn get_transaction_by_hash(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    match find(context, &params.required()?)? {
        Some(FoundTransaction::Included { block, index, transaction }) => {
            context.check_transaction_size(&transaction)?;
            let inclusion = Inclusion::new(&block.block, index as u64);
            write_transaction(&mut out, &transaction, Some(inclusion));
        }
        Some(FoundTransaction::Pooled(pooled)) => {
            context.check_transaction_size(pooled.transaction())?;
            write_transaction(&mut out, pooled.transaction(), None);
        }
        Some(FoundTransaction::Unsealed(transaction)) => {
            context.check_transaction_size(&transaction)?;
            write_transaction(&mut out, &transaction, None);
        }
        None => out.extend_from_slice(NULL),
    }
    Ok(out)
}

/// Transaction and its location.
pub enum FoundTransaction {
    Included {
        block: Arc<ExecutedBlock>,
        /// Index of the transaction in the block.
        index: usize,
        transaction: Arc<Transaction>,
    },
    Pooled(Arc<PooledTransaction>),
    /// Transaction of the block being built, on an endpoint that shows sealed blocks only.
    Unsealed(Arc<Transaction>),
}

/// Searches the request's view, then the pool, then the newest view: the transaction may have moved from the
/// pool to the chain in between.
pub fn find(context: &Context<'_>, hash: &B256) -> Result<Option<FoundTransaction>, Error> {
    let included = |view: &View| -> Result<Option<FoundTransaction>, Error> {
        context.check_inline_read(view, hash)?;
        let Some((block, index)) = view.transaction(hash)? else {
            return Ok(view.open_transaction(hash)?.map(FoundTransaction::Unsealed));
        };
        let transaction = block.block.transactions.get(index).cloned();
        Ok(transaction.map(|transaction| FoundTransaction::Included { block, index, transaction }))
    };
    if let Some(transaction) = included(context.view()?)? {
        return Ok(Some(transaction));
    }
    if let Some(pooled) = context.node.pool().get(hash) {
        return Ok(Some(FoundTransaction::Pooled(pooled)));
    }
    included(context.newest_view()?.as_ref())
}

fn get_transaction_receipt(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash = params.required()?;
    let view = context.view()?;
    context.check_inline_read(view, &hash)?;
    let Some((executed, index)) = view.transaction(&hash)? else { return Ok(NULL.to_vec()) };
    context.check_receipt_size(&executed.block, index)?;
    Ok(receipt(view, &executed.block, index).unwrap_or_else(|| NULL.to_vec()))
}
