//! Table that maps callers to their buckets.

use std::fs::File;

use crate::{
    cpu_quota::CpuQuota,
    memory::{LINE, SECRET, SharedMemory, TableError},
    quota::Quota,
    sync::{AtomicU64, Ordering},
};

const TAG_BITS: u32 = 16;
const TAG: u64 = (1 << TAG_BITS) - 1;
/// Latest time that a slot can hold, in us: almost nine years.
const LAST: u64 = u64::MAX >> TAG_BITS;

/// Table of token buckets.
#[derive(Debug)]
pub struct RateLimitTable {
    memory: SharedMemory,
    secret: [u8; SECRET],
    lines: u64,
}

impl RateLimitTable {
    /// Creates a table that is private to this process. `slots` must be a multiple of [`LINE`].
    pub fn private(slots: usize, secret: [u8; SECRET]) -> Result<Self, TableError> {
        Ok(Self::from_memory(SharedMemory::private(slots, &secret)?, secret))
    }

    /// Maps the table in the memory behind `file`.
    ///
    /// The memory starts with a secret of [`SECRET`] bytes; its creator zeroes the rest.
    pub fn shared(file: &File, slots: usize) -> Result<Self, TableError> {
        let (memory, secret) = SharedMemory::shared(file, slots)?;
        Ok(Self::from_memory(memory, secret))
    }

    fn from_memory(memory: SharedMemory, secret: [u8; SECRET]) -> Self {
        let lines = (memory.slots().len() / LINE) as u64;
        Self { memory, secret, lines }
    }

    /// Returns the bucket position of the caller with this name: a keyed hash that selects the line and the
    /// tag.
    pub fn key(&self, name: &[u8]) -> u64 {
        let hash = blake3::keyed_hash(&self.secret, name);
        hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Takes `cost` tokens from the bucket with this key.
    ///
    /// Returns 0 if the bucket held them. Otherwise takes nothing and returns the time in us until it will.
    /// `now` is the time in us on a monotonic clock shared by all users of the table.
    pub fn consume(&self, key: u64, now: u64, quota: &Quota, cost: u64) -> u64 {
        let now = now.min(LAST);
        loop {
            let (slot, seen, full_at) = self.find(key, now);
            let next = full_at.max(now).saturating_add(quota.refill_time(cost));
            let wait = next.saturating_sub(now).saturating_sub(quota.window());
            if wait > 0 {
                return wait;
            }
            let word = (next.min(LAST) << TAG_BITS) | (key & TAG);
            // Relaxed ordering suffices: no other memory depends on this word.
            if slot.compare_exchange_weak(seen, word, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return 0;
            }
        }
    }

    /// Returns the time in us until `cost` tokens are available; takes none. See [`Self::consume`].
    pub fn wait(&self, key: u64, now: u64, quota: &Quota, cost: u64) -> u64 {
        let now = now.min(LAST);
        let (_, _, full_at) = self.find(key, now);
        let next = full_at.max(now).saturating_add(quota.refill_time(cost));
        next.saturating_sub(now).saturating_sub(quota.window())
    }

    /// Charges `used` us of processor time to the bucket with this key, which may go into debt.
    ///
    /// Returns 0 while the bucket has time left, otherwise the time in us until it does. `used` may be 0 to
    /// query the bucket.
    pub fn charge_cpu(&self, key: u64, now: u64, quota: &CpuQuota, used: u64) -> u64 {
        let now = now.min(LAST);
        loop {
            let (slot, seen, full_at) = self.find(key, now);
            let next = full_at.max(now).saturating_add(quota.refill_time(used));
            let next = next.min(now.saturating_add(quota.limit())).max(full_at);
            let wait = next.saturating_sub(now).saturating_sub(quota.window());
            if used == 0 {
                return wait;
            }
            let word = (next.min(LAST) << TAG_BITS) | (key & TAG);
            if slot.compare_exchange_weak(seen, word, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return wait;
            }
        }
    }

    /// Returns the slot of the bucket with this key, its value, and the time at which the bucket is full again.
    ///
    /// The time is 0 if the slot is free or belonged to another caller: the bucket then starts full.
    fn find(&self, key: u64, now: u64) -> (&AtomicU64, u64, u64) {
        let line = usize::try_from((key >> TAG_BITS) % self.lines).map_or(0, |line| line * LINE);
        let slots = &self.memory.slots()[line..line + LINE];
        let mut fullest = (&slots[0], u64::MAX);
        for slot in slots {
            let word = slot.load(Ordering::Relaxed);
            if word & TAG == key & TAG && word >> TAG_BITS > now {
                return (slot, word, word >> TAG_BITS);
            }
            if word < fullest.1 {
                fullest = (slot, word);
            }
        }
        (fullest.0, fullest.1, 0)
    }
}
