//! Compares buckets with a reference model that counts tokens, and uses them from several threads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::HashMap, fs::File, io::Write, sync::Barrier, thread};

use foreseal_rate_limit::{CpuQuota, HEAD, LINE, MAX_WINDOW, Quota, RateLimitTable, SECRET, TableError};
use proptest::prelude::*;

const KEY: [u8; SECRET] = [7; SECRET];

/// Reference token bucket that refills gradually. A token is `interval` parts; one part is added every
/// microsecond.
struct Counted {
    units: u64,
    last: u64,
}

impl Counted {
    fn consume(&mut self, now: u64, interval: u64, burst: u64, cost: u64) -> u64 {
        let capacity = interval * burst;
        self.units = capacity.min(self.units + (now - self.last));
        self.last = now;
        let wanted = interval * cost.min(burst);
        if self.units < wanted {
            return wanted - self.units;
        }
        self.units -= wanted;
        0
    }
}

fn quota(interval: u64, burst: u64) -> Quota {
    Quota::new(interval, burst).unwrap()
}

proptest! {
    /// A line holds as many callers as it has slots, for any hashes.
    #[test]
    fn a_bucket_refills_like_a_token_bucket(
        interval in 1u64..5_000,
        burst in 1u64..40,
        steps in prop::collection::vec((0u64..20_000, 0usize..LINE, 0u64..50), 1..300),
    ) {
        let table = RateLimitTable::private(LINE, KEY).unwrap();
        let mut counted: HashMap<usize, Counted> = HashMap::new();
        let mut now = 1_000;
        for (passed, caller, cost) in steps {
            now += passed;
            let key = table.key(&[u8::try_from(caller).unwrap()]);
            let slow = counted.entry(caller).or_insert(Counted { units: interval * burst, last: now });
            let expected = slow.consume(now, interval, burst, cost);
            prop_assert_eq!(table.wait(key, now, &quota(interval, burst), cost), expected);
            prop_assert_eq!(table.consume(key, now, &quota(interval, burst), cost), expected);
        }
    }

    /// With more callers than slots, a caller may get more than its quota, never less.
    #[test]
    fn no_caller_gets_less_than_its_quota(
        steps in prop::collection::vec((0u64..2_000, 0u16..400, 1u64..4), 1..400),
    ) {
        let table = RateLimitTable::private(4 * LINE, KEY).unwrap();
        let mut counted: HashMap<u64, Counted> = HashMap::new();
        let mut now = 0;
        for (passed, caller, cost) in steps {
            now += passed;
            let key = table.key(&caller.to_be_bytes());
            // Callers with the same line and tag share a bucket.
            let shared = ((key >> 16) % 4) << 16 | (key & 0xffff);
            let slow = counted.entry(shared).or_insert(Counted { units: 10_000, last: now });
            let admitted = table.consume(key, now, &quota(1_000, 10), cost) == 0;
            if slow.consume(now, 1_000, 10, cost) == 0 {
                prop_assert!(admitted);
            } else if admitted {
                // Another caller had evicted the slot, so the bucket starts full again.
                slow.units = 10_000 - 1_000 * cost;
            }
        }
    }
}

#[test]
fn a_request_after_the_reported_wait_is_admitted() {
    let table = RateLimitTable::private(LINE, KEY).unwrap();
    let (key, quota) = (table.key(b"caller"), quota(333, 3));
    let mut now = 5;
    for _ in 0..3 {
        assert_eq!(table.consume(key, now, &quota, 1), 0);
    }
    for cost in [1, 2, 3, 1] {
        let wait = table.consume(key, now, &quota, cost);
        assert!(wait > 0);
        assert_eq!(table.consume(key, now + wait - 1, &quota, cost), 1);
        now += wait;
        assert_eq!(table.consume(key, now, &quota, cost), 0);
    }
}

#[test]
fn a_cost_above_the_burst_consumes_all_of_it() {
    let table = RateLimitTable::private(LINE, KEY).unwrap();
    let (key, quota) = (table.key(b"caller"), quota(1_000, 5));
    assert_eq!(table.consume(key, 0, &quota, 1_000_000), 0);
    assert_eq!(table.consume(key, 0, &quota, 1), 1_000);
    assert_eq!(table.consume(key, 0, &quota, u64::MAX), 5_000);
}

#[test]
fn the_fullest_bucket_is_evicted_when_all_are_used() {
    let table = RateLimitTable::private(LINE, KEY).unwrap();
    let quota = quota(1_000, 100);
    let keys: Vec<u64> = (0..9u8).map(|name| table.key(&[name])).collect();
    for (cost, key) in (10..).zip(&keys[..8]) {
        assert_eq!(table.consume(*key, 0, &quota, cost), 0);
    }
    assert_eq!(table.consume(keys[8], 0, &quota, 100), 0);
    // The first caller had used least, so its bucket is evicted and starts full again; the others are
    // unchanged.
    assert_eq!(table.wait(keys[0], 0, &quota, 100), 0);
    for (cost, key) in (11..).zip(&keys[1..8]) {
        assert_eq!(table.wait(*key, 0, &quota, 100), 1_000 * cost);
    }
}

#[test]
fn concurrent_threads_consume_no_more_than_the_bucket() {
    const THREADS: u64 = 8;
    const CALLERS: u64 = 4;
    const BURST: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let table = RateLimitTable::private(LINE, KEY).unwrap();
    let (start, quota) = (Barrier::new(usize::try_from(THREADS).unwrap()), quota(10, BURST));
    let consumed: u64 = thread::scope(|scope| {
        let spawned: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let mut consumed = 0;
                    for attempt in 0..2 * BURST {
                        let key = table.key(&(attempt % CALLERS).to_be_bytes());
                        consumed += u64::from(table.consume(key, 1, &quota, 1) == 0);
                    }
                    consumed
                })
            })
            .collect();
        spawned.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(consumed, CALLERS * BURST);
}

fn shared_memory(slots: usize, secret: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(secret).unwrap();
    file.set_len((HEAD + 8 * slots) as u64).unwrap();
    file
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no file")]
fn processes_that_map_the_memory_share_its_buckets() {
    let file = shared_memory(64, &KEY);
    let (one, other) =
        (RateLimitTable::shared(&file, 64).unwrap(), RateLimitTable::shared(&file, 64).unwrap());
    let quota = quota(1_000, 2);
    assert_eq!(one.key(b"caller"), other.key(b"caller"));
    let key = one.key(b"caller");
    assert_eq!(one.consume(key, 0, &quota, 1), 0);
    assert_eq!(other.consume(key, 0, &quota, 1), 0);
    assert_eq!(one.consume(key, 0, &quota, 1), 1_000);
}

#[test]
fn another_secret_yields_other_keys() {
    let table = RateLimitTable::private(LINE, KEY).unwrap();
    let other = RateLimitTable::private(LINE, [8; SECRET]).unwrap();
    assert_ne!(table.key(b"caller"), other.key(b"caller"));
    assert_ne!(table.key(b"caller"), table.key(b"callers"));
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no file")]
fn invalid_memory_is_rejected() {
    for slots in [0, 1, 12, usize::MAX, usize::MAX - 7] {
        assert!(matches!(RateLimitTable::private(slots, KEY), Err(TableError::Slots { .. })), "{slots}");
    }
    let file = shared_memory(64, &KEY);
    assert!(matches!(RateLimitTable::shared(&file, 72), Err(TableError::Size { .. })));
    let file = shared_memory(64, &[]);
    assert!(matches!(RateLimitTable::shared(&file, 64), Err(TableError::NoSecret)));
}

#[test]
fn a_zero_or_oversized_quota_is_none() {
    for (interval, burst) in [(0, 1), (1, 0), (MAX_WINDOW, 2), (u64::MAX, 2)] {
        assert_eq!(Quota::new(interval, burst), None);
    }
    assert_eq!(Quota::new(MAX_WINDOW, 1).unwrap().window(), MAX_WINDOW);
}

#[test]
fn processor_time_beyond_the_burst_is_repaid_at_the_rate() {
    let table = RateLimitTable::private(64, [7; 32]).unwrap();
    let (key, quota) = (table.key(b"caller"), CpuQuota::new(100, 500).unwrap());
    assert_eq!(table.charge_cpu(key, 1_000, &quota, 400_000), 0);
    assert_eq!(table.charge_cpu(key, 1_000, &quota, 0), 0);
    // The debt of 300 ms is repaid at 100 ms per second.
    assert_eq!(table.charge_cpu(key, 1_000, &quota, 400_000), 3_000_000);
    assert_eq!(table.charge_cpu(key, 2_001_000, &quota, 0), 1_000_000);
    assert_eq!(table.charge_cpu(key, 3_001_000, &quota, 0), 0);
    assert_eq!(table.charge_cpu(table.key(b"other"), 1_000, &quota, 0), 0);
}

#[test]
fn a_debt_of_processor_time_has_a_bound() {
    let table = RateLimitTable::private(64, [7; 32]).unwrap();
    let (key, quota) = (table.key(b"caller"), CpuQuota::new(1, 1_000).unwrap());
    assert_eq!(table.charge_cpu(key, 5, &quota, u64::MAX), 30_000_000);
    assert_eq!(table.charge_cpu(key, 5, &quota, 7), 30_000_000);
}

#[test]
fn a_quota_of_zero_is_none() {
    for (rate, burst) in [(0, 1), (1, 0), (1_000_001, 1_000_001), (1, u64::MAX), (1_000_000, 0)] {
        assert_eq!(CpuQuota::new(rate, burst), None, "{rate} {burst}");
    }
}
