//! Callers and their buckets.

use std::{
    fs::File,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{
    CpuQuota, Quota,
    memory::{Memory, SECRET, TableError},
};

/// Slots of a line: a cache line of them.
pub const LINE: usize = 8;

const TAG_BITS: u32 = 16;
const TAG: u64 = (1 << TAG_BITS) - 1;
/// The last time that a slot holds, us: almost nine years.
const LAST: u64 = u64::MAX >> TAG_BITS;

/// A table of buckets.
#[derive(Debug)]
pub struct Table {
    memory: Memory,
    secret: [u8; SECRET],
    lines: u64,
}

impl Table {
    /// A table of this process alone. `slots` is a multiple of [`LINE`].
    pub fn private(slots: usize, secret: [u8; SECRET]) -> Result<Self, TableError> {
        Ok(Self::of(Memory::private(slots, &secret)?, secret))
    }

    /// The table in the memory behind `file`, which begins with a secret of [`SECRET`] bytes; the rest was zeros when
    /// it was made.
    pub fn shared(file: &File, slots: usize) -> Result<Self, TableError> {
        let (memory, secret) = Memory::shared(file, slots)?;
        Ok(Self::of(memory, secret))
    }

    fn of(memory: Memory, secret: [u8; SECRET]) -> Self {
        let lines = (memory.slots().len() / LINE) as u64;
        Self { memory, secret, lines }
    }

    /// Where the bucket of the caller with this name is.
    pub fn place(&self, name: &[u8]) -> u64 {
        let hash = blake3::keyed_hash(&self.secret, name);
        hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Takes `cost` tokens out of the bucket at `place`: 0 if they were there, else, and then nothing is taken, the us
    /// after which they will be. `now` is us of a clock that all who share the table have and that never goes back.
    pub fn take(&self, place: u64, now: u64, quota: &Quota, cost: u64) -> u64 {
        let now = now.min(LAST);
        loop {
            let (slot, seen, full_at) = self.find(place, now);
            let next = full_at.max(now).saturating_add(quota.worth(cost));
            let wait = next.saturating_sub(now).saturating_sub(quota.span());
            if wait > 0 {
                return wait;
            }
            let word = (next.min(LAST) << TAG_BITS) | (place & TAG);
            // Nothing but this word is shared, so no order with other memory is needed.
            if slot.compare_exchange_weak(seen, word, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return 0;
            }
        }
    }

    /// As [`Self::take`], but nothing is taken.
    pub fn wait(&self, place: u64, now: u64, quota: &Quota, cost: u64) -> u64 {
        let now = now.min(LAST);
        let (_, _, full_at) = self.find(place, now);
        let next = full_at.max(now).saturating_add(quota.worth(cost));
        next.saturating_sub(now).saturating_sub(quota.span())
    }

    /// Takes `used` us of processor time out of the bucket at `place`, into debt if need be: 0 while something is left, else the
    /// us until something is. `used` may be 0.
    pub fn charge(&self, place: u64, now: u64, quota: &CpuQuota, used: u64) -> u64 {
        let now = now.min(LAST);
        loop {
            let (slot, seen, full_at) = self.find(place, now);
            let next = full_at.max(now).saturating_add(quota.worth(used));
            let next = next.min(now.saturating_add(quota.limit())).max(full_at);
            let wait = next.saturating_sub(now).saturating_sub(quota.span());
            if used == 0 {
                return wait;
            }
            let word = (next.min(LAST) << TAG_BITS) | (place & TAG);
            if slot.compare_exchange_weak(seen, word, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return wait;
            }
        }
    }

    /// The slot for `place`, the word seen in it, and when the bucket is full again; 0 for a slot that was another's.
    fn find(&self, place: u64, now: u64) -> (&AtomicU64, u64, u64) {
        let line = usize::try_from((place >> TAG_BITS) % self.lines).map_or(0, |line| line * LINE);
        let slots = &self.memory.slots()[line..line + LINE];
        let mut fullest = (&slots[0], u64::MAX);
        for slot in slots {
            let word = slot.load(Ordering::Relaxed);
            if word & TAG == place & TAG && word >> TAG_BITS > now {
                return (slot, word, word >> TAG_BITS);
            }
            if word < fullest.1 {
                fullest = (slot, word);
            }
        }
        (fullest.0, fullest.1, 0)
    }
}
