//! Filters over HTTP: a client creates one and polls it for changes.
//!
//! A poll uses the newest view, also inside a batch: a filter returns each change once, so an older view
//! would have nothing new.

mod asked;
mod changes;
mod kept;
mod registry;
mod watch;

use std::sync::Arc;

use crate::{
    Argument, Context, Error, Kind, Method,
    json::write_quantity,
    logs::{answer_filter, first},
    params::{BlockSelection, Filter, Params},
};

use asked::{Question, Said};
use watch::{Place, Seen, Watch};

pub use kept::{FilterKeeper, Filters};

const ID: &[Argument] = &[Argument::required("filterId", Kind::Quantity)];

pub const METHODS: &[Method] = &[
    Method::apart("eth_newFilter", &[Argument::required("filter", Kind::Filter)], new_filter),
    Method::apart("eth_newBlockFilter", &[], new_block_filter),
    Method::apart("eth_newPendingTransactionFilter", &[], new_transaction_filter),
    Method::apart("eth_getFilterChanges", ID, get_changes),
    Method::apart("eth_getFilterLogs", ID, get_logs),
    Method::apart("eth_uninstallFilter", ID, uninstall),
];

fn new_filter(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let filter: Filter = params.required()?;
    let view = context.newest_view()?;
    let from = match filter.blocks {
        BlockSelection::Range { from, to } => first(&view, from, to)?,
        BlockSelection::Hash(_) => 0,
    };
    let cursor = changes::logs_from_now(&view, &filter, from)?;
    add(context, Watch::Logs { filter: Arc::new(filter), cursor })
}

fn new_block_filter(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    add(context, Watch::Blocks(Seen::now(&*context.newest_view()?)))
}

fn new_transaction_filter(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    add(context, Watch::Transactions(0))
}

fn add(context: &Context<'_>, watch: Watch) -> Result<Vec<u8>, Error> {
    let max = context.limits.filters;
    let Said::Added { id } = context.filters.ask(context, Question::Add { watch, max })? else {
        return Err(Error::FiltersAway);
    };
    let mut out = Vec::new();
    write_quantity(&mut out, id);
    Ok(out)
}

/// Returns the version and the state of the filter.
fn look(context: &Context<'_>, id: u64) -> Result<(u64, Watch), Error> {
    found(context.filters.ask(context, Question::Look { id })?)
}

fn found(said: Said) -> Result<(u64, Watch), Error> {
    if let Said::Found { version, watch } = said { Ok((version, watch)) } else { Err(Error::FiltersAway) }
}

/// Returns the changes since the last poll.
///
/// If several calls run at once, here or in other processes, one advances the filter and returns; the others
/// retry from there.
fn get_changes(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let id = params.required()?;
    let (mut version, mut watch) = look(context, id)?;
    loop {
        let (answer, place) = match &watch {
            Watch::Transactions(_) => return take(context, id),
            Watch::Logs { filter, cursor } => {
                let mut new = cursor.clone();
                let answer = changes::logs(context, filter, &mut new);
                (answer, (new != *cursor).then_some(Place::Logs(new)))
            }
            Watch::Blocks(seen) => {
                let mut new = *seen;
                let answer = changes::blocks(context, &mut new);
                (answer, (new != *seen).then_some(Place::Blocks(new)))
            }
        };
        let Some(place) = place else { return answer };
        match context.filters.ask(context, Question::Move { id, version, place })? {
            Said::Moved => return answer,
            moved => (version, watch) = found(moved)?,
        }
    }
}

fn take(context: &Context<'_>, id: u64) -> Result<Vec<u8>, Error> {
    let most = context.limits.logs.max(1);
    match context.filters.ask(context, Question::Take { id, most })? {
        Said::Taken(hashes) => Ok(changes::list(&hashes)),
        _ => Err(Error::FiltersAway),
    }
}

fn get_logs(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    match look(context, params.required()?)? {
        (_, Watch::Logs { filter, .. }) => answer_filter(context, Filter::clone(&filter)),
        (_, Watch::Blocks(_) | Watch::Transactions(_)) => Err(Error::FilterNotFound),
    }
}

fn uninstall(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    match context.filters.ask(context, Question::Remove { id: params.required()? })? {
        Said::Removed(removed) => Ok(removed.to_string().into_bytes()),
        _ => Err(Error::FiltersAway),
    }
}
