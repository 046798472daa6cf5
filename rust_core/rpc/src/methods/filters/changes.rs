//! Changes since the last poll of a filter.

use alloy_primitives::B256;
use foreseal_chain::View;
use foreseal_primitives::{LogFilter, LogPosition};
use foreseal_state::BlockHashes;

use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::{hex::write_data, object::write_list},
    methods::logs::{
        log_list::LogList,
        page_limits,
        pages::{PageEnd, append_next_page, reader_position},
    },
    params::filter::{BlockSelection, Filter},
    streams::{filters::filter_state::SeenBlock, log_cursor::LogCursor},
};

/// Returns the initial cursor of a new log filter: after all existing logs.
pub fn logs_from_now(view: &View, filter: &Filter, from: u64) -> Result<LogCursor, Error> {
    let wanted = LogFilter::new(filter.addresses.clone(), filter.topics.clone());
    let mut cursor = LogCursor::new(&wanted, from, view.finalized());
    if let BlockSelection::Range { to, .. } = filter.blocks {
        let last = PageEnd(to).last(view);
        if from <= last {
            cursor.set_seen(reader_position(view, LogPosition::block(last + 1), from)?);
        }
    }
    Ok(cursor)
}

/// Returns the logs since the last call; logs that left the chain come first.
pub fn logs(
    context: &Context<'_>,
    view: &View,
    filter: &Filter,
    cursor: &mut LogCursor,
) -> Result<Vec<u8>, Error> {
    let mut answer = LogList::within(page_limits(context.limits, context.limits.logs));
    // The logs of a single block, selected by hash, never change.
    if let BlockSelection::Range { to, .. } = filter.blocks {
        let wanted = LogFilter::new(filter.addresses.clone(), filter.topics.clone());
        match append_next_page(view, &wanted, PageEnd(to), cursor, &mut answer) {
            Ok(_) => {}
            Err(error @ Error::LogsGone { from }) => {
                // The error is reported once; the next call continues from there.
                *cursor = LogCursor::new(&wanted, from, view.finalized());
                return Err(error);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(answer.into_json())
}

/// Returns the hashes of blocks sealed since the last call. After a reorg they start at the fork point.
pub fn blocks(context: &Context<'_>, seen: &mut SeenBlock) -> Result<Vec<u8>, Error> {
    let view = context.newest_view()?;
    let latest = view.latest().number();
    let from = common_block(&view, *seen)?.saturating_add(1);
    let last = latest.min(from.saturating_add(context.limits.logs.max(1) - 1));
    let mut hashes = Vec::new();
    for number in from..=last {
        let Some(hash) = view.block_hash(number)? else { break };
        *seen = SeenBlock { number, hash, finalized: view.finalized() };
        hashes.push(hash);
    }
    if hashes.is_empty() {
        // A reorg may remove blocks without replacing them.
        let number = from.saturating_sub(1).min(latest);
        if let Some(hash) = view.block_hash(number)? {
            *seen = SeenBlock { number, hash, finalized: view.finalized() };
        }
    }
    Ok(list(&hashes))
}

/// Returns the number of the last block up to `seen` that is still on the chain.
fn common_block(view: &View, seen: SeenBlock) -> Result<u64, Error> {
    let SeenBlock { mut number, mut hash, finalized } = seen;
    while view.block_hash(number)? != Some(hash) {
        let Some((block, _)) = view.reorged_blocks().find(number, &hash) else {
            return Ok(finalized.min(view.finalized()));
        };
        (number, hash) = (number.saturating_sub(1), block.parent());
    }
    Ok(number)
}

pub fn list(hashes: &[B256]) -> Vec<u8> {
    let mut out = Vec::with_capacity(70 * hashes.len() + 2);
    write_list(&mut out, hashes, |out, hash| write_data(out, hash.as_slice()));
    out
}
