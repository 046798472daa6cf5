//! Status of a submitted transaction, from the pool to a sealed block.

use alloy_primitives::B256;
use foreseal_chain::{ExecutedBlock, View};
use foreseal_pool::Status;
use serde_json::Value;

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::object::Object,
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

const HASH: Argument = Argument::required("hash", Kind::Hash);

pub const METHODS: &[Method] = &[
    Method::worker_pool("foreseal_transactionStatus", &[HASH], transaction_status).in_read_lane(),
    Method::worker_pool("base_transactionStatus", &[HASH], base_transaction_status).in_read_lane(),
];

/// Location of the transaction: a block of the newest view, or the status in the pool.
enum FoundStatus {
    Block { number: u64, index: Option<u64>, sealed: bool },
    Pool(Status),
}

/// Finds a transaction. Reads the pool first: a transaction that leaves it in the meantime is in the newest
/// view.
fn find(context: &Context<'_>, hash: &B256) -> Result<FoundStatus, Error> {
    let pooled = context.node.pool().status(hash);
    let view = context.newest_view()?;
    Ok(included(&view, hash)?.unwrap_or(FoundStatus::Pool(pooled)))
}

fn included(view: &View, hash: &B256) -> Result<Option<FoundStatus>, Error> {
    let Some((block, position)) = view.transaction(hash)? else { return Ok(None) };
    let (number, sealed) = (block.number(), block.number() <= view.latest().number());
    Ok(Some(FoundStatus::Block { number, index: step_of(&block, position), sealed }))
}

/// Returns the index of the first step that contains the transaction at `position`; `None` if the steps of the
/// block are unknown.
fn step_of(block: &ExecutedBlock, position: usize) -> Option<u64> {
    let index = block.steps.iter().position(|step| step.transactions > position)?;
    u64::try_from(index).ok()
}

fn transaction_status(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let transaction = find(context, &params.required()?)?;
    let mut out = Vec::with_capacity(128);
    let mut object = Object::open(&mut out);
    let text = |text: &dyn ToString| Value::from(text.to_string()).to_string();
    match transaction {
        FoundStatus::Block { number, index, sealed } => object
            .json("status", if sealed { "\"sealed\"" } else { "\"preconfirmed\"" })
            .quantity("blockNumber", number)
            .optional_quantity("flashblockIndex", index),
        FoundStatus::Pool(Status::Pooled) => object.json("status", "\"pooled\""),
        FoundStatus::Pool(Status::Queued(waiting)) => {
            object.json("status", "\"queued\"").json("reason", &text(&waiting))
        }
        FoundStatus::Pool(Status::Dropped(reason)) => {
            object.json("status", "\"dropped\"").json("reason", &text(&reason))
        }
        FoundStatus::Pool(Status::Replaced { by }) => {
            object.json("status", "\"replaced\"").data("replacedBy", by)
        }
        FoundStatus::Pool(Status::Unknown) => object.json("status", "\"unknown\""),
    };
    object.close();
    Ok(out)
}

/// Returns the status in the format of older flashblock clients: known if the transaction is in the pool or a
/// block.
fn base_transaction_status(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let known = match find(context, &params.required()?)? {
        FoundStatus::Block { .. } | FoundStatus::Pool(Status::Pooled | Status::Queued(_)) => true,
        FoundStatus::Pool(Status::Dropped(_) | Status::Replaced { .. } | Status::Unknown) => false,
    };
    let mut out = Vec::with_capacity(32);
    Object::open(&mut out).json("status", if known { "\"Known\"" } else { "\"Unknown\"" }).close();
    Ok(out)
}
