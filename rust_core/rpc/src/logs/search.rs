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
    let mut search = view.search_logs(filter, from, last);
    let stored = StoredLogs { view, filter, cache };
    while let Some(matches) = search.next() {
        let appended = matches.and_then(|matches| match matches {
            LogMatches::Stored(ordinals) => stored.append(&ordinals, list),
            LogMatches::Block { block, first } => Ok(append_block(&block.block, filter, first, list)),
        });
        match appended {
            Ok(ControlFlow::Break(position)) => return Ok(position),
            Ok(ControlFlow::Continue(())) => {}
            Err(StateError::ViewGone) if list.is_empty() && search.retry_in_memory() => continue,
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
pub fn append_block(
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
        let cached: Vec<Option<Arc<CachedLog>>> =
            ordinals.iter().map(|ordinal| self.cached(*ordinal)).collect();
        let missing: Vec<u64> = ordinals
            .iter()
            .zip(&cached)
            .filter(|(_, cached)| cached.is_none())
            .map(|(ordinal, _)| *ordinal)
            .collect();
        let (mut entries, mut full) = (ordinals.iter().copied().zip(&cached).peekable(), None);
        self.view.read_logs(self.filter, &missing, &mut |ordinal, found| {
            full = push_cached(&mut entries, list).break_value();
            if full.is_some() {
                return ControlFlow::Break(());
            }
            entries.next();
            match list.push(found, false) {
                ControlFlow::Break(()) => full = Some(ordinal),
                ControlFlow::Continue(json) => {
                    if let Some(cache) = self.cache {
                        cache.insert(
                            self.key(ordinal),
                            CachedLog { log: found.log.clone(), json: json.into() },
                        );
                    }
                }
            }
            if full.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match full.or_else(|| push_cached(&mut entries, list).break_value()) {
            Some(ordinal) => Ok(ControlFlow::Break(self.view.log_position(ordinal)?)),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    fn cached(&self, ordinal: u64) -> Option<Arc<CachedLog>> {
        self.cache?.get(self.key(ordinal)).filter(|cached| self.filter.matches(&cached.log))
    }

    fn key(&self, ordinal: u64) -> LogKey {
        LogKey { generation: self.view.log_generation(), ordinal }
    }
}

/// Appends the cached logs up to the next one that is missing. Breaks with the ordinal at which the list was full.
fn push_cached<'c>(
    entries: &mut std::iter::Peekable<impl Iterator<Item = (u64, &'c Option<Arc<CachedLog>>)>>,
    list: &mut LogList,
) -> ControlFlow<u64> {
    while let Some((ordinal, Some(cached))) = entries.next_if(|(_, cached)| cached.is_some()) {
        if list.push_json(&cached.json).is_break() {
            return ControlFlow::Break(ordinal);
        }
    }
    ControlFlow::Continue(())
}
