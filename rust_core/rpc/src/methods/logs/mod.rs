//! `eth_getLogs` returns one range at once; `foreseal_getLogs` returns any range in pages.

pub mod log_list;
pub mod pages;
pub mod range;
pub mod search;

use std::ops::ControlFlow;

use alloy_primitives::B256;
use foreseal_chain::{BlockCounts, BlockId, View};
use foreseal_primitives::{LogFilter, LogPosition};
use foreseal_scheduler::{Lane, Stopped, record_late};

use super::method::Method;
use crate::{
    context::{
        call_context::{Context, MAX_ATTEMPT_BYTES},
        limits::Limits,
    },
    errors::{
        error::{Error, LogLimit, LogLimitKind, RangeError, ResponseSize},
        rpc_error::milliseconds,
    },
    json::{large_answers::TooManyLargeAnswers, object::Object},
    params::{
        argument::{Argument, Kind},
        filter::{BlockSelection, Filter, LogQuery, Tag},
        invalid::Reason,
        positional::Params,
    },
    streams::log_cursor::{LogCursor, ReaderPosition},
};
use log_list::{ListLimits, LogList, SearchStop};
use pages::{PageEnd, append_next_page};
use range::{Range, number};
use search::{append_block_logs, append_logs};

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
    let parsed = Params::parse(params, "eth_getLogs", FILTER);
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
            let id = BlockId::Hash { hash, require_canonical: false };
            // Unless it names an earlier step, the index of the store finds its logs.
            if !context.is_attempt()
                && let Some(BlockCounts { number, .. }) = view.counts(id)?
            {
                return Ok(finish(
                    context,
                    search(context, view, &filter, Range { from: number, to: number })?,
                ));
            }
            let executed = context.block(view, id)?;
            let mut list = LogList::within(one_block(context)).counted_in(&context.caches.large_answers);
            match append_block_logs(&executed.block, &filter, 0, &mut list) {
                ControlFlow::Continue(()) => Ok(finish(context, list)),
                ControlFlow::Break(_) => Err(one_block_error(context, list.stop())),
            }
        }
        BlockSelection::Range { from, to } => match Range::resolve(view, from, to)? {
            Some(range) => Ok(finish(context, search(context, view, &filter, range)?)),
            None => Ok(LogList::within(one_block(context)).into_json()),
        },
    }
}

/// Returns the JSON of a complete list.
fn finish(context: &Context<'_>, mut list: LogList) -> Vec<u8> {
    context.progress.has_logs.set(true);
    context.progress.reservation.set(list.take_reservation());
    list.into_json()
}

/// Maximum number of logs of a block that an attempt searches.
const MAX_ATTEMPT_SCAN: u64 = 4096;

/// Returns the limits of a list for a range.
fn range_limits(context: &Context<'_>) -> ListLimits {
    let Limits { logs, log_time, response, .. } = *context.limits;
    if context.is_attempt() {
        let bytes = response.min(MAX_ATTEMPT_BYTES);
        return ListLimits { logs, bytes, time: log_time, scan: MAX_ATTEMPT_SCAN, is_page: false };
    }
    ListLimits { logs, bytes: response, time: log_time, scan: u64::MAX, is_page: false }
}

/// Returns the limits of a list for one block: any number of logs, except in an attempt.
fn one_block(context: &Context<'_>) -> ListLimits {
    let limits = range_limits(context);
    if context.is_attempt() { limits } else { ListLimits { logs: u64::MAX, ..limits } }
}

/// Returns the error of a search of one block: no smaller range exists.
fn one_block_error(context: &Context<'_>, stop: Option<SearchStop>) -> Error {
    match stop {
        _ if context.is_attempt() => Error::TooSlowInline,
        Some(SearchStop::Stopped(stopped)) => stopped.into(),
        Some(SearchStop::Crowded { max }) => TooManyLargeAnswers { max }.into(),
        Some(SearchStop::Late) => {
            record_late(context.limits.log_time);
            Stopped::TimeLimit(context.limits.log_time).into()
        }
        Some(SearchStop::Large | SearchStop::Full) | None => {
            ResponseSize { max: context.limits.response, has_logs: true }.into()
        }
    }
}

/// Returns all matching logs of the range.
///
/// # Errors
///
/// Returns the exceeded limit and the range that can be queried. A single block may have any number of logs.
fn search(context: &Context<'_>, view: &View, filter: &LogFilter, range: Range) -> Result<LogList, Error> {
    let (Range { from, to }, limits) = (range, context.limits);
    let list_limits = if from == to { one_block(context) } else { range_limits(context) };
    let mut list = LogList::within(list_limits).counted_in(&context.caches.large_answers);
    let cache = Some(&context.caches.logs);
    let ended = append_logs(view, filter, (LogPosition::block(from), to), &mut list, cache)?;
    // The search did not finish the block where it ended.
    let last = ended.block.saturating_sub(1).max(from);
    let kind = match list.stop() {
        None => return Ok(list),
        Some(SearchStop::Stopped(stopped)) => return Err(stopped.into()),
        Some(SearchStop::Crowded { max }) => return Err(TooManyLargeAnswers { max }.into()),
        stop if context.is_attempt() || from == to => return Err(one_block_error(context, stop)),
        Some(SearchStop::Large) if ended.block == from => {
            return Err(one_block_error(context, Some(SearchStop::Large)));
        }
        Some(SearchStop::Full) => LogLimitKind::Logs { max: limits.logs },
        Some(SearchStop::Large) => LogLimitKind::Bytes { max: limits.response as u64 },
        Some(SearchStop::Late) => {
            record_late(limits.log_time);
            LogLimitKind::Milliseconds { max: milliseconds(limits.log_time) }
        }
    };
    Err(LogLimit { kind, from, to: last }.into())
}

/// Maximum size of the logs of a page in bytes, unless its only log is larger.
const PAGE_BYTES: usize = 2 << 20;
/// Size of the object around the logs of a page, with its cursor, in bytes.
const PAGE_ENVELOPE: usize = 512;

/// Returns the limits of a page of at most `logs` logs.
pub fn page_limits(limits: &Limits, logs: u64) -> ListLimits {
    ListLimits {
        logs: logs.clamp(1, limits.logs.max(1)),
        bytes: limits.response.saturating_sub(PAGE_ENVELOPE).min(PAGE_BYTES),
        time: limits.log_time,
        scan: u64::MAX,
        is_page: true,
    }
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
        return Err(wrong(Reason::OtherFilter).into());
    }
    let mut list = LogList::within(page_limits(limits, limit.unwrap_or(PAGE)));
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
    let id = BlockId::Hash { hash, require_canonical: false };
    // A step before the last one of its block has fewer logs than the block.
    let (number, at_step) = if let Some(counts) = view.counts(id)? {
        (counts.number, None)
    } else {
        let executed = view.resolve(id)?;
        (executed.number(), Some(executed))
    };
    let mut cursor = cursor.unwrap_or_else(|| LogCursor::new(filter, number, view.finalized()));
    let done = cursor.seen().filter(|seen| seen.hash == hash).map_or(0, |seen| seen.logs);
    let ended = if let Some(executed) = &at_step {
        append_block_logs(&executed.block, filter, done, list).break_value()
    } else {
        let start = LogPosition { block: number, index: done };
        let ended = append_logs(view, filter, (start, number), list, None)?;
        list.stop().map(|_| ended)
    };
    Ok(ended.filter(|at| at.block == number).map(|at| {
        cursor.set_seen(Some(ReaderPosition { number, hash, logs: at.index }));
        cursor
    }))
}
