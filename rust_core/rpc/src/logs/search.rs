//! Search that appends the matching logs of a view to a list, from the cache of JSON where it has them.

use std::{ops::ControlFlow, sync::Arc};

use foreseal_chain::{LogMatches, View, matching_logs};
use foreseal_primitives::{Block, LogFilter, LogPosition};
use foreseal_state::StateError;

use super::LogList;
use crate::log_json_cache::{CachedLog, LogJsonCache, LogKey};

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

/// Appends the matching logs of one block, from log index `first` on. Breaks with the position at which the list was
/// full.
pub fn append_block_logs(
    block: &Block,
    filter: &LogFilter,
    first: u64,
    list: &mut LogList,
) -> ControlFlow<LogPosition> {
    for found in matching_logs(block, filter, first) {
        if list.push(&found, false).is_break() {
            return ControlFlow::Break(found.position());
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
    /// Appends the logs with these ordinals. Reads all that are not cached in one transaction.
    fn append(&self, ordinals: &[u64], list: &mut LogList) -> Result<ControlFlow<LogPosition>, StateError> {
        let (fitting, beyond) = ordinals.split_at_checked(list.room()).unwrap_or((ordinals, &[]));
        let cached: Vec<_> = fitting.iter().map(|ordinal| self.cached(*ordinal)).collect();
        let missing = fitting.iter().zip(&cached).filter(|(_, cached)| cached.is_none());
        // The first log that does not fit is read as well: the search ends at its position.
        let unread: Vec<u64> = missing.map(|(ordinal, _)| *ordinal).chain(beyond.first().copied()).collect();
        let (mut rest, mut ended) = (cached.iter(), ControlFlow::Continue(()));
        self.view.read_logs(self.filter, &unread, &mut |ordinal, found| {
            push_cached(&mut rest, list);
            match list.push(found, false) {
                ControlFlow::Break(()) => {
                    ended = ControlFlow::Break(found.position());
                    ControlFlow::Break(())
                }
                ControlFlow::Continue(json) => {
                    if let Some(cache) = self.cache {
                        let cached = CachedLog { log: found.log.clone(), json: json.into() };
                        cache.insert(self.key(ordinal), cached);
                    }
                    ControlFlow::Continue(())
                }
            }
        })?;
        push_cached(&mut rest, list);
        Ok(ended)
    }

    fn cached(&self, ordinal: u64) -> Option<Arc<CachedLog>> {
        self.cache?.get(self.key(ordinal)).filter(|cached| self.filter.matches(&cached.log))
    }

    fn key(&self, ordinal: u64) -> LogKey {
        LogKey { generation: self.view.log_generation(), ordinal }
    }
}

/// Appends the cached logs, which fit, up to the next one that is not cached, and passes over that one.
fn push_cached<'c>(rest: &mut impl Iterator<Item = &'c Option<Arc<CachedLog>>>, list: &mut LogList) {
    for cached in rest.map_while(Option::as_ref) {
        list.push_json(&cached.json);
    }
}
