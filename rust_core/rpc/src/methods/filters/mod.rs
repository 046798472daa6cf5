//! Filters over HTTP: a client creates one and polls it for changes.
//!
//! A poll uses the newest view, also inside a batch: a filter returns each change once, so an older view
//! would have nothing new.

pub mod changes;

use std::sync::Arc;

use super::{
    logs::{answer_filter, first},
    method::Method,
};
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::hex::write_quantity,
    params::{
        argument::{Argument, Kind},
        filter::{BlockSelection, Filter},
        positional::Params,
    },
    streams::filters::{
        filter_protocol::{FilterRequest, FilterResponse},
        filter_state::{FilterPosition, FilterState, SeenBlock},
    },
};

const ID: &[Argument] = &[Argument::required("filterId", Kind::Quantity)];

pub const METHODS: &[Method] = &[
    Method::remote("eth_newFilter", &[Argument::required("filter", Kind::Filter)], new_filter),
    Method::remote("eth_newBlockFilter", &[], new_block_filter),
    Method::remote("eth_newPendingTransactionFilter", &[], new_transaction_filter),
    Method::remote("eth_getFilterChanges", ID, get_changes),
    Method::remote("eth_getFilterLogs", ID, get_logs),
    Method::remote("eth_uninstallFilter", ID, uninstall),
];

fn new_filter(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let filter: Filter = params.required()?;
    let view = context.newest_view()?;
    let from = match filter.blocks {
        BlockSelection::Range { from, to } => first(&view, from, to)?,
        BlockSelection::Hash(_) => 0,
    };
    let cursor = changes::logs_from_now(&view, &filter, from)?;
    add(context, FilterState::Logs { filter: Arc::new(filter), cursor, mode: context.mode })
}

fn new_block_filter(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    add(context, FilterState::Blocks(SeenBlock::now(&*context.newest_view()?)))
}

fn new_transaction_filter(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    add(context, FilterState::Transactions(0))
}

fn add(context: &Context<'_>, state: FilterState) -> Result<Vec<u8>, Error> {
    let max = context.limits.filters;
    let FilterResponse::Added { id } =
        context.filters.request(context.node, FilterRequest::Add { state, max })?
    else {
        return Err(Error::FiltersAway);
    };
    let mut out = Vec::new();
    write_quantity(&mut out, id);
    Ok(out)
}

/// Returns the version and the state of the filter.
fn get(context: &Context<'_>, id: u64) -> Result<(u64, FilterState), Error> {
    found(context.filters.request(context.node, FilterRequest::Get { id })?)
}

fn found(response: FilterResponse) -> Result<(u64, FilterState), Error> {
    if let FilterResponse::Found { version, state } = response {
        Ok((version, state))
    } else {
        Err(Error::FiltersAway)
    }
}

/// Returns the changes since the last poll.
///
/// If several calls run at once, here or in other processes, one advances the filter and returns; the others
/// retry from there.
fn get_changes(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = params.required()?;
    let (mut version, mut state) = get(context, id)?;
    loop {
        let (answer, position) = match &state {
            FilterState::Transactions(_) => return poll(context, id),
            FilterState::Logs { filter, cursor, mode } => {
                let mut new = cursor.clone();
                let answer =
                    context.view_in(*mode).and_then(|view| changes::logs(context, &view, filter, &mut new));
                (answer, (new != *cursor).then_some(FilterPosition::Logs(new)))
            }
            FilterState::Blocks(seen) => {
                let mut new = *seen;
                let answer = changes::blocks(context, &mut new);
                (answer, (new != *seen).then_some(FilterPosition::Blocks(new)))
            }
        };
        // A failed read does not advance the filter, except past logs that are gone.
        let advances = matches!(answer, Ok(_) | Err(Error::LogsGone { .. }));
        let Some(position) = position.filter(|_| advances) else { return answer };
        match context.filters.request(context.node, FilterRequest::Advance { id, version, position })? {
            FilterResponse::Advanced => return answer,
            changed => (version, state) = found(changed)?,
        }
    }
}

fn poll(context: &Context<'_>, id: u64) -> Result<Vec<u8>, Error> {
    let max = context.limits.logs.max(1);
    match context.filters.request(context.node, FilterRequest::NextArrivals { id, max })? {
        FilterResponse::Arrivals(hashes) => Ok(changes::list(&hashes)),
        _ => Err(Error::FiltersAway),
    }
}

fn get_logs(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    match get(context, params.required()?)? {
        (_, FilterState::Logs { filter, mode, .. }) => {
            let view = context.view()?.in_mode(mode);
            answer_filter(&Context { view: Some(&view), mode, ..*context }, Filter::clone(&filter))
        }
        (_, FilterState::Blocks(_) | FilterState::Transactions(_)) => Err(Error::FilterNotFound),
    }
}

fn uninstall(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    match context.filters.request(context.node, FilterRequest::Remove { id: params.required()? })? {
        FilterResponse::Removed(removed) => Ok(removed.to_string().into_bytes()),
        _ => Err(Error::FiltersAway),
    }
}
