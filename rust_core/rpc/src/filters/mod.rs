//! Filters over HTTP: a client makes one and asks now and then what is new.
//!
//! A call about changes answers from the newest view, also inside a batch: what it has given it does not give again, so an
//! older view has nothing for it.

mod changes;
mod registry;

use crate::{
    Argument, Context, Error, Kind, Method,
    json::write_quantity,
    logs::{answer_filter, first},
    params::{BlockSelection, Filter, Params},
};

use changes::Seen;
use registry::Watch;

pub use registry::Filters;

const ID: &[Argument] = &[Argument::required("filterId", Kind::Quantity)];

pub const METHODS: &[Method] = &[
    Method::threaded("eth_newFilter", &[Argument::required("filter", Kind::Filter)], new_filter),
    Method::inline("eth_newBlockFilter", &[], new_block_filter),
    Method::inline("eth_newPendingTransactionFilter", &[], new_transaction_filter),
    Method::threaded("eth_getFilterChanges", ID, get_changes),
    Method::threaded("eth_getFilterLogs", ID, get_logs),
    Method::inline("eth_uninstallFilter", ID, uninstall),
];

fn new_filter(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let filter: Filter = params.required()?;
    let view = context.newest_view()?;
    let from = match filter.blocks {
        BlockSelection::Range { from, to } => first(&view, from, to)?,
        BlockSelection::Hash(_) => 0,
    };
    let cursor = changes::logs_from_now(&view, &filter, from)?;
    add(context, Watch::Logs { filter, cursor })
}

fn new_block_filter(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    add(context, Watch::Blocks(Seen::now(&*context.newest_view()?)))
}

fn new_transaction_filter(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    add(context, Watch::Transactions(context.node.pool().next_arrival()))
}

fn add(context: &Context<'_>, watch: Watch) -> Result<Vec<u8>, Error> {
    let id = context.filters.add(watch, context.node.now().monotonic, context.limits.filters)?;
    let mut out = Vec::new();
    write_quantity(&mut out, id);
    Ok(out)
}

fn get_changes(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let watch = context.filters.get(params.required()?, context.node.now().monotonic)?;
    // Two calls at once would give the same twice.
    let mut watch = watch.lock();
    match &mut *watch {
        Watch::Logs { filter, cursor } => changes::logs(context, filter, cursor),
        Watch::Blocks(seen) => changes::blocks(context, seen),
        Watch::Transactions(next) => changes::transactions(context, next),
    }
}

fn get_logs(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let watch = context.filters.get(params.required()?, context.node.now().monotonic)?;
    let filter = match &*watch.lock() {
        Watch::Logs { filter, .. } => filter.clone(),
        Watch::Blocks(_) | Watch::Transactions(_) => return Err(Error::FilterNotFound),
    };
    answer_filter(context, filter)
}

fn uninstall(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let removed = context.filters.remove(params.required()?, context.node.now().monotonic);
    Ok(removed.to_string().into_bytes())
}
