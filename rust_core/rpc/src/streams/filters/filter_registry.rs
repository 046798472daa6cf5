//! Registry of the filters that clients create, with expiry.

use std::{collections::HashMap, time::Duration};

use alloy_primitives::{B256, keccak256};
use foreseal_pool::Pool;
use parking_lot::Mutex;

use super::{
    filter_protocol::{FilterRequest, FilterResponse},
    filter_state::{FilterPosition, FilterState},
};

/// Idle time after which a filter expires.
pub const EXPIRY: Duration = Duration::from_mins(5);

#[derive(Debug)]
struct FilterEntry {
    state: FilterState,
    /// Number of times that the filter has advanced.
    version: u64,
    /// Monotonic time of the last use.
    last_used: Duration,
}

/// Filters of a chain.
#[derive(Debug)]
pub struct FilterRegistry {
    /// Makes ids hard to guess: a caller that knows an id can consume the filter's changes.
    secret: B256,
    entries: Mutex<FilterEntries>,
}

#[derive(Debug, Default)]
struct FilterEntries {
    last_id: u64,
    by_id: HashMap<u64, FilterEntry>,
}

impl FilterRegistry {
    pub fn new(secret: B256) -> Self {
        Self { secret, entries: Mutex::default() }
    }

    /// Handles a request. `pool` supplies the arrivals for transaction filters.
    pub fn handle(&self, request: FilterRequest, pool: &Pool, now: Duration) -> FilterResponse {
        let mut entries = self.entries.lock();
        entries.by_id.retain(|_, entry| now.saturating_sub(entry.last_used) < EXPIRY);
        match request {
            FilterRequest::Add { mut state, max } => {
                if let FilterState::Transactions(next) = &mut state {
                    *next = pool.next_pending_sequence();
                }
                entries.add(FilterEntry { state, version: 0, last_used: now }, max, self.secret)
            }
            FilterRequest::Get { id } => {
                entries.get(id, now).map_or(FilterResponse::NotFound, |entry| entry.found())
            }
            FilterRequest::Advance { id, version, position } => entries
                .get(id, now)
                .map_or(FilterResponse::NotFound, |entry| entry.advance(version, position)),
            FilterRequest::NextArrivals { id, max } => {
                match entries.get(id, now).map(|entry| &mut entry.state) {
                    Some(FilterState::Transactions(next)) => allocate(next, max, pool),
                    _ => FilterResponse::NotFound,
                }
            }
            FilterRequest::Remove { id } => FilterResponse::Removed(entries.by_id.remove(&id).is_some()),
        }
    }
}

impl FilterEntries {
    /// Returns the filter with this id and renews its expiry.
    fn get(&mut self, id: u64, now: Duration) -> Option<&mut FilterEntry> {
        let entry = self.by_id.get_mut(&id)?;
        entry.last_used = now;
        Some(entry)
    }

    fn add(&mut self, entry: FilterEntry, max: u64, secret: B256) -> FilterResponse {
        if u64::try_from(self.by_id.len()).is_ok_and(|count| count >= max) {
            return FilterResponse::TooMany { max };
        }
        let id = loop {
            self.last_id += 1;
            let hash = keccak256([secret.as_slice(), &self.last_id.to_be_bytes()].concat());
            let id = hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            if id > 0 && !self.by_id.contains_key(&id) {
                break id;
            }
        };
        self.by_id.insert(id, entry);
        FilterResponse::Added { id }
    }
}

impl FilterEntry {
    fn found(&self) -> FilterResponse {
        FilterResponse::Found { version: self.version, state: self.state.clone() }
    }

    /// Advances the filter if it still has this version. Otherwise another call advanced it first, and the
    /// result is its current state.
    fn advance(&mut self, version: u64, position: FilterPosition) -> FilterResponse {
        if version != self.version {
            return self.found();
        }
        match (&mut self.state, position) {
            (FilterState::Logs { cursor, .. }, FilterPosition::Logs(new)) => *cursor = new,
            (FilterState::Blocks(seen), FilterPosition::Blocks(new)) => *seen = new,
            _ => return FilterResponse::NotFound,
        }
        self.version += 1;
        FilterResponse::Advanced
    }
}

/// Returns the hashes of the transactions that entered the pool since the last call.
fn allocate(next: &mut u64, max: u64, pool: &Pool) -> FilterResponse {
    let arrived = pool.pending_hashes_since(*next, usize::try_from(max).unwrap_or(usize::MAX));
    if arrived.missed > 0 {
        // Reported once; the next call continues with the oldest buffered arrival.
        *next = next.saturating_add(arrived.missed);
        return FilterResponse::Missed { missed: arrived.missed, max: pool.config().max_pending_log as u64 };
    }
    *next = arrived.next;
    FilterResponse::Arrivals(arrived.transactions)
}
