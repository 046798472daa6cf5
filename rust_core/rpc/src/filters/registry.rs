//! Registry of the filters that clients create, with expiry.

use std::{collections::HashMap, time::Duration};

use alloy_primitives::{B256, keccak256};
use foreseal_pool::Pool;
use foreseal_primitives::mutant;
use parking_lot::Mutex;

use super::{
    asked::{Question, Said},
    watch::{Place, Watch},
};

/// Idle time after which a filter expires.
pub const EXPIRY: Duration = Duration::from_mins(5);

#[derive(Debug)]
struct Entry {
    watch: Watch,
    /// Number of times that the filter has advanced.
    version: u64,
    /// Monotonic time of the last use.
    asked: Duration,
}

/// Filters of a chain.
#[derive(Debug)]
pub struct Registry {
    /// Makes ids hard to guess: a caller that knows an id can consume the filter's changes.
    secret: B256,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    made: u64,
    by_id: HashMap<u64, Entry>,
}

impl Registry {
    pub fn new(secret: B256) -> Self {
        Self { secret, entries: Mutex::default() }
    }

    /// Handles a request. `pool` supplies the arrivals for transaction filters.
    pub fn handle(&self, question: Question, pool: &Pool, now: Duration) -> Said {
        let mut entries = self.entries.lock();
        entries.by_id.retain(|_, entry| now.saturating_sub(entry.asked) < EXPIRY);
        match question {
            Question::Add { mut watch, max } => {
                if let Watch::Transactions(next) = &mut watch {
                    *next = pool.next_arrival();
                }
                entries.add(Entry { watch, version: 0, asked: now }, max, self.secret)
            }
            Question::Look { id } => entries.known(id, now).map_or(Said::NotFound, |entry| entry.found()),
            Question::Move { id, version, place } => {
                entries.known(id, now).map_or(Said::NotFound, |entry| entry.move_on(version, place))
            }
            Question::Take { id, most } => match entries.known(id, now).map(|entry| &mut entry.watch) {
                Some(Watch::Transactions(next)) => take(next, most, pool),
                _ => Said::NotFound,
            },
            Question::Remove { id } => Said::Removed(entries.by_id.remove(&id).is_some()),
        }
    }
}

impl Entries {
    /// Returns the filter with this id and renews its expiry.
    fn known(&mut self, id: u64, now: Duration) -> Option<&mut Entry> {
        let entry = self.by_id.get_mut(&id)?;
        entry.asked = now;
        Some(entry)
    }

    fn add(&mut self, entry: Entry, max: u64, secret: B256) -> Said {
        if u64::try_from(self.by_id.len()).is_ok_and(|count| count >= max) {
            return Said::TooMany { max };
        }
        let id = loop {
            self.made += 1;
            let hash = keccak256([secret.as_slice(), &self.made.to_be_bytes()].concat());
            let id = hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            if id > 0 && !self.by_id.contains_key(&id) {
                break id;
            }
        };
        self.by_id.insert(id, entry);
        Said::Added { id }
    }
}

impl Entry {
    fn found(&self) -> Said {
        Said::Found { version: self.version, watch: self.watch.clone() }
    }

    /// Advances the filter if it still has this version. Otherwise another call advanced it first, and the
    /// result is its current state.
    fn move_on(&mut self, version: u64, place: Place) -> Said {
        if version != self.version && !mutant!("move-filter-anyway") {
            return self.found();
        }
        match (&mut self.watch, place) {
            (Watch::Logs { cursor, .. }, Place::Logs(new)) => *cursor = new,
            (Watch::Blocks(seen), Place::Blocks(new)) => *seen = new,
            _ => return Said::NotFound,
        }
        self.version += 1;
        Said::Moved
    }
}

/// Returns the hashes of the transactions that entered the pool since the last call.
fn take(next: &mut u64, most: u64, pool: &Pool) -> Said {
    let arrived = pool.arrivals(*next, usize::try_from(most).unwrap_or(usize::MAX));
    if arrived.missed > 0 {
        // Reported once; the next call continues with the oldest buffered arrival.
        *next = next.saturating_add(arrived.missed);
        return Said::Missed { missed: arrived.missed, max: pool.config().max_arrivals as u64 };
    }
    *next = arrived.next;
    Said::Taken(arrived.found)
}
