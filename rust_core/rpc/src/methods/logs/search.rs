//! Search that appends the matching logs of a view to a list, from the cache of JSON where it has them.

use std::{ops::ControlFlow, sync::Arc};

use foreseal_chain::{LogMatches, View, matching_logs};
use foreseal_primitives::{Block, LogFilter, LogPosition};
use foreseal_state::StateError;

use super::log_list::{ListLimits, LogList, SearchStop};
use crate::json::log_json_cache::{CachedLog, LogJsonCache, LogKey};

/// Appends the logs that match `filter` to `list`, from position `from` to the end of block `last`. Returns the
/// position where the search ended: the start of the block after `last`, or the position at which `list` was full
/// or out of time.
pub fn append_logs(
    view: &View,
    filter: &LogFilter,
    (from, last): (LogPosition, u64),
    list: &mut LogList,
    cache: Option<&LogJsonCache>,
) -> Result<LogPosition, StateError> {
    // One more than fits shows that the list is full.
    let max_portion = list.room().saturating_add(1);
    let (mut search, before) = (view.search_logs(filter, from, last, max_portion), list.len());
    let stored = StoredLogs { view, filter, cache };
    while let Some(matches) = search.next() {
        let appended = matches.and_then(|matches| match matches {
            LogMatches::Stored(ordinals) => stored.append(&ordinals, list),
            LogMatches::Block { block, first } => Ok(append_block_logs(&block.block, filter, first, list)),
        });
        match appended {
            Ok(ControlFlow::Break(position)) => return Ok(position),
            Ok(ControlFlow::Continue(())) => {}
            Err(StateError::ViewGone) if list.len() == before && search.retry_in_memory() => continue,
            Err(error) => return Err(error),
        }
        if !search.is_finished() && list.check_time().is_break() {
            break;
        }
    }
    search.position()
}

/// Number of logs in a block above which the size of those that match is computed before they are rendered.
const MEASURED_LOGS: u64 = 1024;
/// Number of logs between two checks of the time.
const SLICE: usize = 128;
/// Maximum number of stored logs that are read in one transaction.
const MAX_READ: usize = 1024;

/// Appends the matching logs of one block, from log index `first` on. Breaks with the position at which the list was
/// full or out of time.
pub fn append_block_logs(
    block: &Block,
    filter: &LogFilter,
    first: u64,
    list: &mut LogList,
) -> ControlFlow<LogPosition> {
    let ListLimits { scan, is_page, .. } = *list.limits();
    let count = block.log_count(block.receipts.len()).saturating_sub(first);
    if count > scan {
        list.end(SearchStop::Late);
        return ControlFlow::Break(LogPosition { block: block.header.number, index: first });
    }
    if !is_page
        && count > MEASURED_LOGS
        && let Some(position) = list.stop_if_large(matching_logs(block, filter, first))
    {
        return ControlFlow::Break(position);
    }
    for (index, entry) in matching_logs(block, filter, first).enumerate() {
        if index % SLICE == SLICE - 1 && list.check_time().is_break() {
            return ControlFlow::Break(entry.position());
        }
        if list.push(&entry, false).is_break() {
            return ControlFlow::Break(entry.position());
        }
    }
    ControlFlow::Continue(())
}

/// Logs of the store, and the cache in front of them.
struct StoredLogs<'a> {
    view: &'a View,
    filter: &'a LogFilter,
    cache: Option<&'a LogJsonCache>,
}

impl StoredLogs<'_> {
    /// Appends the logs with these ordinals. Breaks with the position at which the list was full.
    fn append(&self, ordinals: &[u64], list: &mut LogList) -> Result<ControlFlow<LogPosition>, StateError> {
        if let Some(position) = self.check_count(ordinals, list)? {
            return Ok(ControlFlow::Break(position));
        }
        let mut left = ordinals;
        while let Some(next) = left.first() {
            if left.len() < ordinals.len() && list.check_time().is_break() {
                return Ok(ControlFlow::Break(self.view.log_position(*next)?));
            }
            // One more than fits ends the search at its position.
            let (portion, rest) = left.split_at(list.room().saturating_add(1).min(left.len()).min(MAX_READ));
            let ended = self.append_portion(portion, list)?;
            if ended.is_break() {
                return Ok(ended);
            }
            left = rest;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Ends the search of a list that these logs of one block exceed by their number alone: none is read. Returns the
    /// start of their block.
    fn check_count(&self, ordinals: &[u64], list: &mut LogList) -> Result<Option<LogPosition>, StateError> {
        let room = list.room();
        let (Some(first), Some(beyond)) = (ordinals.first(), ordinals.get(room)) else { return Ok(None) };
        if list.limits().is_page || !list.is_full_by_bytes(room) {
            return Ok(None);
        }
        let block = self.view.log_position(*first)?.block;
        // Logs of several blocks are read: the error names the blocks that fit.
        if self.view.log_position(*beyond)?.block != block {
            return Ok(None);
        }
        list.end(SearchStop::Large);
        Ok(Some(LogPosition::block(block)))
    }

    /// Appends the logs with these ordinals. Reads all that are not cached in one transaction.
    fn append_portion(
        &self,
        ordinals: &[u64],
        list: &mut LogList,
    ) -> Result<ControlFlow<LogPosition>, StateError> {
        let cached: Vec<_> = ordinals.iter().map(|ordinal| self.cached(*ordinal)).collect();
        let missing = ordinals.iter().zip(&cached).filter(|(_, cached)| cached.is_none());
        let unread: Vec<u64> = missing.map(|(ordinal, _)| *ordinal).collect();
        let mut rest = ordinals.iter().copied().zip(&cached);
        let (mut ended, mut full) = (ControlFlow::Continue(()), ControlFlow::Continue(()));
        self.view.read_logs(self.filter, &unread, &mut |ordinal, entry| {
            full = push_cached(&mut rest, list);
            if full.is_break() {
                return ControlFlow::Break(());
            }
            match list.push(entry, false) {
                ControlFlow::Break(()) => {
                    ended = ControlFlow::Break(entry.position());
                    ControlFlow::Break(())
                }
                ControlFlow::Continue(json) => {
                    if let Some(cache) = self.cache {
                        let cached = CachedLog { log: entry.log.clone(), json: json.into() };
                        cache.insert(self.key(ordinal), cached);
                    }
                    ControlFlow::Continue(())
                }
            }
        })?;
        if full.is_continue() && ended.is_continue() {
            full = push_cached(&mut rest, list);
        }
        match full {
            ControlFlow::Break(ordinal) => Ok(ControlFlow::Break(self.view.log_position(ordinal)?)),
            ControlFlow::Continue(()) => Ok(ended),
        }
    }

    fn cached(&self, ordinal: u64) -> Option<Arc<CachedLog>> {
        self.cache?.get(self.key(ordinal)).filter(|cached| self.filter.matches(&cached.log))
    }

    fn key(&self, ordinal: u64) -> LogKey {
        LogKey { generation: self.view.log_generation(), ordinal }
    }
}

/// Appends the cached logs up to the next one that is not cached, and passes over that one. Breaks with the ordinal of
/// the log that does not fit.
fn push_cached<'c>(
    rest: &mut impl Iterator<Item = (u64, &'c Option<Arc<CachedLog>>)>,
    list: &mut LogList,
) -> ControlFlow<u64> {
    for (ordinal, cached) in rest {
        let Some(cached) = cached else { break };
        if list.push_json(&cached.json).is_break() {
            return ControlFlow::Break(ordinal);
        }
    }
    ControlFlow::Continue(())
}
