//! The filters that clients have made, until nobody asks for them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use alloy_primitives::{B256, keccak256};
use parking_lot::Mutex;

use crate::{Error, params::Filter};

use super::changes::Seen;
use crate::logs::Cursor;

/// A filter is forgotten when nobody asked for it for so long.
pub const EXPIRY: Duration = Duration::from_mins(5);

/// What a filter gives, and how far it was given.
#[derive(Debug)]
pub enum Watch {
    Logs {
        filter: Filter,
        cursor: Cursor,
    },
    Blocks(Seen),
    /// Number of the next arrival in the pool.
    Transactions(u64),
}

#[derive(Debug)]
struct Entry {
    watch: Arc<Mutex<Watch>>,
    /// Monotonic time.
    asked: Duration,
}

/// All filters of a process.
#[derive(Debug)]
pub struct Filters {
    /// Makes the ids hard to guess: whoever knows one can use up its filter.
    secret: B256,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    made: u64,
    by_id: HashMap<u64, Entry>,
}

impl Entries {
    fn expire(&mut self, now: Duration) {
        self.by_id.retain(|_, entry| now.saturating_sub(entry.asked) < EXPIRY);
    }
}

impl Filters {
    pub fn new(secret: B256) -> Self {
        Self { secret, entries: Mutex::default() }
    }

    /// Keeps a filter; its id. There are at most `max`.
    pub fn add(&self, watch: Watch, now: Duration, max: u64) -> Result<u64, Error> {
        let mut entries = self.entries.lock();
        entries.expire(now);
        if u64::try_from(entries.by_id.len()).is_ok_and(|count| count >= max) {
            return Err(Error::TooManyFilters { max });
        }
        let id = loop {
            entries.made += 1;
            let hash = keccak256([self.secret.as_slice(), &entries.made.to_be_bytes()].concat());
            let id = hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            if id > 0 && !entries.by_id.contains_key(&id) {
                break id;
            }
        };
        entries.by_id.insert(id, Entry { watch: Arc::new(Mutex::new(watch)), asked: now });
        Ok(id)
    }

    /// The filter with this id, which is good for another while.
    pub fn get(&self, id: u64, now: Duration) -> Result<Arc<Mutex<Watch>>, Error> {
        let mut entries = self.entries.lock();
        entries.expire(now);
        let entry = entries.by_id.get_mut(&id).ok_or(Error::FilterNotFound)?;
        entry.asked = now;
        Ok(entry.watch.clone())
    }

    /// Forgets a filter; whether there was one.
    pub fn remove(&self, id: u64, now: Duration) -> bool {
        let mut entries = self.entries.lock();
        entries.expire(now);
        entries.by_id.remove(&id).is_some()
    }
}
