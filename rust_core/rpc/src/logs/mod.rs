//! `eth_getLogs` returns one range at once; `foreseal_getLogs` returns any range in pages.

mod cursor;
mod log_list;
mod pages;
mod range;
mod search;

use std::ops::ControlFlow;

use alloy_primitives::B256;
use foreseal_chain::{BlockId, View};
use foreseal_primitives::{LogFilter, LogPosition};
use foreseal_scheduler::{Lane, record_late};

use crate::{
    Argument, Context, Error, Kind, Limits, LogLimit, LogLimitKind, Method, RangeError,
    json::Object,
    params::{BlockSelection, Filter, LogQuery, Params, Reason, Tag},
    rpc_error::milliseconds,
};

use cursor::ReaderPosition;
use log_list::SearchStop;
use range::{Range, number};
use search::{append_block_logs, append_logs};

pub use cursor::LogCursor;
pub use log_list::LogList;
pub use pages::{PageEnd, append_next_page, reader_position};

pub const METHODS: &[Method] = &[
    Method::fast_path("eth_getLogs", FILTER, get_logs).with_lane_fn(lane),
    Method::worker_pool("foreseal_getLogs", &[Argument::required("query", Kind::LogQuery)], get_page),
];

const FILTER: &[Argument] = &[Argument::required("filter", Kind::Filter)];

/// Maximum size in bytes of parameters that are parsed to choose a lane.
const MAX_READ_PARAMS: usize = 4096;
/// Maximum number of blocks of a search in the read lane.
const MAX_READ_BLOCKS: u64 = 8;

/// Returns the lane of a search: the read lane for a few blocks and for invalid parameters.
fn lane(params: &[u8]) -> Lane {
    if params.len() > MAX_READ_PARAMS {
        return Lane::Heavy;
    }
    let parsed = Params::parse(params, "eth_getLogs", FILTER).map_err(Error::from);
    let parsed = parsed.and_then(|mut params| params.required::<Filter>());
    match parsed.map(|filter| filter.blocks) {
        Ok(BlockSelection::Range { from: Tag::Number(from), to: Tag::Number(to) })
            if to.saturating_sub(from) >= MAX_READ_BLOCKS =>
        {
            Lane::Heavy
        }
        Ok(BlockSelection::Range { from, to })
            if from != to && !matches!((from, to), (Tag::Number(_), Tag::Number(_))) =>
        {
            Lane::Heavy
        }
        Ok(BlockSelection::Hash(_) | BlockSelection::Range { .. }) | Err(_) => Lane::Read,
    }
}

/// Default number of logs in a page.
const PAGE: u64 = 1000;

fn get_logs(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    answer_filter(context, params.required()?)
}

/// Returns all logs that match the filter, as in `eth_getLogs`.
pub fn answer_filter(context: &Context<'_>, filter: Filter) -> Result<Vec<u8>, Error> {
    let Filter { blocks, addresses, topics } = filter;
    let (view, filter) = (context.view()?, LogFilter::new(addresses, topics));
    match blocks {
        BlockSelection::Hash(hash) => {
            let found = context.block(view, BlockId::Hash { hash, require_canonical: false })?;
            let mut list = for_one_block(context);
            match append_block_logs(&found.block, &filter, 0, &mut list) {
                ControlFlow::Continue(()) => Ok(list.into_json()),
                // Only the list of an attempt can be full.
                ControlFlow::Break(_) => Err(Error::TooSlowInline),
            }
        }
        BlockSelection::Range { from, to } => match Range::resolve(view, from, to)? {
            Some(range) => Ok(search(context, view, &filter, range)?.into_json()),
            None => Ok(LogList::unlimited().into_json()),
        },
    }
}

/// Creates a list for one block: without limits, except in an attempt.
fn for_one_block(context: &Context<'_>) -> LogList {
    let Limits { logs, log_time, .. } = *context.limits;
    if context.is_attempt() { LogList::within(logs, log_time) } else { LogList::unlimited() }
}

/// Returns all matching logs of the range.
///
/// # Errors
///
/// Returns the exceeded limit and the range that can be queried. A single block is never rejected.
fn search(context: &Context<'_>, view: &View, filter: &LogFilter, range: Range) -> Result<LogList, Error> {
    let (Range { from, to }, limits) = (range, context.limits);
    let mut list =
        if from == to { for_one_block(context) } else { LogList::within(limits.logs, limits.log_time) };
    let cache = Some(&context.caches.logs);
    let ended = append_logs(view, filter, (LogPosition::block(from), to), &mut list, cache)?;
    let kind = match list.stop() {
        None => return Ok(list),
        Some(SearchStop::Full) => LogLimitKind::Logs { max: limits.logs },
        Some(SearchStop::Stopped(stopped)) => return Err(stopped.into()),
        Some(SearchStop::Late) => {
            record_late(limits.log_time);
            LogLimitKind::Milliseconds { max: milliseconds(limits.log_time) }
        }
    };
    // The search did not finish the block where it ended. The first block alone can always be queried.
    let to = ended.block.saturating_sub(1).max(from);
    Err(LogLimit { kind, from, to }.into())
}

fn get_page(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let LogQuery { filter: Filter { blocks, addresses, topics }, cursor, limit } = params.required()?;
    let (view, filter, limits) = (context.view()?, LogFilter::new(addresses, topics), context.limits);
    let wrong = |reason| params.wrong("cursor", reason);
    let cursor = match cursor {
        None => None,
        Some(bytes) => Some(LogCursor::decode(&bytes).ok_or_else(|| wrong(Reason::NotCursor))?),
    };
    if cursor.as_ref().is_some_and(|cursor| !cursor.is_of(&filter)) {
        return Err(wrong(Reason::OtherFilter));
    }
    let mut list = LogList::within(limit.unwrap_or(PAGE).clamp(1, limits.logs.max(1)), limits.log_time);
    let next = match blocks {
        BlockSelection::Range { from, to } => {
            let mut cursor = match cursor {
                Some(cursor) => cursor,
                None => LogCursor::new(&filter, first(view, from, to)?, view.finalized()),
            };
            append_next_page(view, &filter, PageEnd(to), &mut cursor, &mut list)?.then_some(cursor)
        }
        BlockSelection::Hash(hash) => page_of_block(view, &filter, hash, cursor, &mut list)?,
    };
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    object.name("logs").extend_from_slice(&list.into_json());
    object.nullable_data("cursor", next.map(|cursor| cursor.encode())).close();
    Ok(out)
}

/// Returns the first block of a paged query. It may be ahead of the chain.
pub fn first(view: &View, from: Tag, to: Tag) -> Result<u64, RangeError> {
    let (first, last) = (number(view, from), number(view, to));
    let ahead = matches!(from, Tag::Number(_)) && !matches!(to, Tag::Number(_));
    if first <= last || ahead { Ok(first) } else { Err(RangeError::Reversed) }
}

/// Appends a page of logs of the block, or step, with this hash.
fn page_of_block(
    view: &View,
    filter: &LogFilter,
    hash: B256,
    cursor: Option<LogCursor>,
    list: &mut LogList,
) -> Result<Option<LogCursor>, Error> {
    let found = view.resolve(BlockId::Hash { hash, require_canonical: false })?;
    let number = found.number();
    let mut cursor = cursor.unwrap_or_else(|| LogCursor::new(filter, number, view.finalized()));
    let done = cursor.seen().filter(|seen| seen.hash == hash).map_or(0, |seen| seen.logs);
    let ended = append_block_logs(&found.block, filter, done, list);
    Ok(ended.break_value().map(|at| {
        cursor.set_seen(Some(ReaderPosition { number, hash, logs: at.index }));
        cursor
    }))
}
