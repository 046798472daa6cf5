//! Pool contents in geth's format: `pending` can execute, base fees aside; `queued` waits for a nonce or for
//! funds.
//!
//! Pre-confirmed transactions have left the pool: they are in the pending block.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use foreseal_pool::{PooledTransaction, SenderContent};

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::{Error, Limit},
    json::{answer_size::SizeBounds, object::Object, pace::paced, transaction::write_transaction},
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

pub const METHODS: &[Method] = &[
    Method::inline("txpool_status", &[], status),
    Method::worker_pool("txpool_content", &[], content),
    Method::worker_pool("txpool_contentFrom", &[Argument::required("address", Kind::Address)], content_from),
    Method::worker_pool("txpool_inspect", &[], inspect),
];

#[allow(clippy::unnecessary_wraps, reason = "methods have the signature of the table")]
fn status(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let counts = context.node.pool().counts();
    let number = |count: usize| u64::try_from(count).expect("a count in memory fits 64 bits");
    let mut out = Vec::with_capacity(64);
    Object::open(&mut out)
        .quantity("pending", number(counts.pooled))
        .quantity("queued", number(counts.queued))
        .close();
    Ok(out)
}

fn content(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    by_sender(context, write_whole, content_size)
}

fn inspect(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    by_sender(context, write_line, |_| SizeBounds::default().plus(LINE))
}

fn content_from(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let content = context.node.pool().sender_content(&params.required()?);
    context.check_size(LISTS.iter().flat_map(|(_, list)| list(&content)).map(content_size).sum(), false)?;
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    for (name, list) in LISTS {
        write_by_nonce(object.name(name), list(&content), write_whole);
    }
    object.close();
    Ok(out)
}

/// Writer of one pooled transaction.
type Write = fn(&mut Vec<u8>, &PooledTransaction);
/// Bounds of the size of one pooled transaction, as it is written, with its sender and nonce.
type Size = fn(&Arc<PooledTransaction>) -> SizeBounds;
/// Accessor of one of the two lists of a sender.
type List = fn(&SenderContent) -> &[Arc<PooledTransaction>];

/// Size of a summary, a sender and a nonce.
const LINE: usize = 320;

fn content_size(transaction: &Arc<PooledTransaction>) -> SizeBounds {
    SizeBounds::transaction(transaction.transaction()).plus(LINE)
}

const LISTS: [(&str, List); 2] =
    [("pending", |content| &content.pooled), ("queued", |content| &content.queued)];

/// Writes the whole pool by sender (EIP-55) and nonce (decimal).
fn by_sender(context: &Context<'_>, write: Write, size: Size) -> Result<Vec<u8>, Error> {
    let counts = context.node.pool().counts();
    let limit = Limit { name: "pool_transactions", max: context.limits.pool_transactions };
    limit.check(counts.pooled + counts.queued)?;
    let content = context.node.pool().content();
    let all = content.values().flat_map(|content| LISTS.into_iter().flat_map(|(_, list)| list(content)));
    context.check_size(all.map(size).sum(), false)?;
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    for (name, list) in LISTS {
        let mut senders = Object::open(object.name(name));
        for (sender, content) in content.iter().filter(|(_, content)| !list(content).is_empty()) {
            write_by_nonce(senders.name(&sender.to_checksum(None)), list(content), write);
        }
        senders.close();
    }
    object.close();
    Ok(out)
}

fn write_by_nonce(out: &mut Vec<u8>, transactions: &[Arc<PooledTransaction>], write: Write) {
    let mut object = Object::open(out);
    for transaction in paced(transactions) {
        write(object.name(&transaction.nonce().to_string()), transaction);
    }
    object.close();
}

fn write_whole(out: &mut Vec<u8>, transaction: &PooledTransaction) {
    write_transaction(out, transaction.transaction(), None);
}

/// Writes geth's summary: `0xTo: 1 wei + 21000 gas × 2 wei`.
fn write_line(out: &mut Vec<u8>, transaction: &PooledTransaction) {
    let envelope = transaction.transaction().envelope();
    let to = envelope.to().map_or("contract creation".to_owned(), |to: Address| to.to_checksum(None));
    let (value, gas, price) = (envelope.value(), envelope.gas_limit(), envelope.max_fee_per_gas());
    out.extend_from_slice(format!("\"{to}: {value} wei + {gas} gas × {price} wei\"").as_bytes());
}
