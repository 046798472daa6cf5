//! Reading of pages: first logs that left the chain, then new ones.

use std::ops::ControlFlow;

use foreseal_chain::View;
use foreseal_primitives::{LogFilter, LogPosition};

use super::{log_list::LogList, range::number, search::append_logs};
use crate::{
    errors::error::Error,
    params::filter::Tag,
    streams::log_cursor::{LogCursor, ReaderPosition},
};

/// Upper bound of a paged query.
#[derive(Clone, Copy, Debug)]
pub struct PageEnd(pub Tag);

impl PageEnd {
    /// Returns the last block that can be returned now. A number covers the blocks that numbers name in the mode
    /// of the view, and may be ahead of them.
    pub fn last(self, view: &View) -> u64 {
        match self.0 {
            Tag::Number(last) => last.min(view.newest_number()),
            tag => number(view, tag),
        }
    }

    /// Returns `true` if no log can follow `seen`.
    fn is_reached(self, view: &View, seen: Option<ReaderPosition>, from: u64) -> bool {
        let next = seen.map_or(from, |seen| seen.number.saturating_add(1));
        matches!(self.0, Tag::Number(last) if last < next && last <= view.latest().number())
    }
}

/// Appends the logs after `cursor` in `view` to `list`, and advances the cursor.
///
/// Logs that are no longer on the chain come first, in reverse order, then the logs after the fork point.
/// Returns `false` at the end of the query.
pub fn append_next_page(
    view: &View,
    filter: &LogFilter,
    upto: PageEnd,
    cursor: &mut LogCursor,
    list: &mut LogList,
) -> Result<bool, Error> {
    if undo(view, filter, cursor, list)?.is_break() {
        return Ok(true);
    }
    cursor.finalized = view.finalized();
    let start = match cursor.seen() {
        Some(seen) => LogPosition { block: seen.number, index: seen.logs },
        None => LogPosition::block(cursor.from),
    };
    let last = upto.last(view);
    if start.block <= last {
        let ended = append_logs(view, filter, (start, last), list, None)?;
        cursor.set_seen(reader_position(view, ended, cursor.from)?);
    }
    Ok(list.stop().is_some() || !upto.is_reached(view, cursor.seen(), cursor.from))
}

/// Rewinds the cursor to the last block that is still on the chain and appends the removed logs. Breaks if
/// the list is full.
fn undo(
    view: &View,
    filter: &LogFilter,
    cursor: &mut LogCursor,
    list: &mut LogList,
) -> Result<ControlFlow<()>, Error> {
    while let Some(seen) = cursor.seen() {
        if let Some(logs) = view.logs_at(seen.number, &seen.hash)? {
            cursor.set_seen(Some(ReaderPosition { logs: seen.logs.min(logs), ..seen }));
            break;
        }
        let common = cursor.finalized.min(view.finalized()).saturating_add(1);
        let logs_gone = || Error::LogsGone { from: common.max(cursor.from) };
        let (block, _) = view.reorged_blocks().find(seen.number, &seen.hash).ok_or_else(logs_gone)?;
        for entry in block.logs_before(filter, seen.logs, seen.hash) {
            if list.push(&entry, true).is_break() {
                cursor.set_seen(Some(ReaderPosition { logs: entry.index + 1, ..seen }));
                return Ok(ControlFlow::Break(()));
            }
        }
        let parent = (seen.number > cursor.from).then(|| seen.number - 1);
        cursor.set_seen(parent.map(|number| ReaderPosition { number, hash: block.parent(), logs: u64::MAX }));
    }
    Ok(ControlFlow::Continue(()))
}

/// Returns the last block that has a log before `position`.
///
/// A pending block without one is not included: the reader does not depend on it yet.
pub fn reader_position(
    view: &View,
    position: LogPosition,
    from: u64,
) -> Result<Option<ReaderPosition>, Error> {
    let LogPosition { mut block, mut index } = position;
    loop {
        if index == 0 {
            if block <= from {
                return Ok(None);
            }
            (block, index) = (block - 1, u64::MAX);
        }
        if let Some(counts) = view.counts_at(block)? {
            let logs = index.min(counts.logs);
            if logs > 0 || block != view.pending().number() {
                return Ok(Some(ReaderPosition { number: block, hash: counts.hash, logs }));
            }
        }
        index = 0;
    }
}
