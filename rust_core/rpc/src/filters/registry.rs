//! The filters that clients have made, until nobody asks for them.

use std::{collections::HashMap, time::Duration};

use alloy_primitives::{B256, keccak256};
use foreseal_pool::Pool;
use foreseal_types::mutant;
use parking_lot::Mutex;

use super::{
    asked::{Question, Said},
    watch::{Place, Watch},
};

/// A filter is forgotten when nobody asked for it for so long.
pub const EXPIRY: Duration = Duration::from_mins(5);

#[derive(Debug)]
struct Entry {
    watch: Watch,
    /// How often it has moved.
    version: u64,
    /// Monotonic time.
    asked: Duration,
}

/// All filters of a chain.
#[derive(Debug)]
pub struct Registry {
    /// Makes the ids hard to guess: whoever knows one can use up its filter.
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

    /// Does what is asked, at once; `pool` is what filters for transactions read.
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
    /// The filter with this id, which is good for another while.
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

    /// One of two that began at the same place moves it on; the other one is told what it is now.
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

/// Hashes of the transactions that entered the pool since the last call.
fn take(next: &mut u64, most: u64, pool: &Pool) -> Said {
    let arrived = pool.arrivals(*next, usize::try_from(most).unwrap_or(usize::MAX));
    if arrived.missed > 0 {
        // Said once; then it goes on with the oldest that is remembered.
        *next = next.saturating_add(arrived.missed);
        return Said::Missed { missed: arrived.missed, max: pool.config().max_arrivals as u64 };
    }
    *next = arrived.next;
    Said::Taken(arrived.found)
}
