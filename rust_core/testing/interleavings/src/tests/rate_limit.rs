use std::sync::Arc;

use loom::thread;

use crate::{
    cpu_quota::CpuQuota,
    memory::{LINE, SECRET},
    quota::Quota,
    table::RateLimitTable,
};

const NOW: u64 = 1_000;

fn table() -> Arc<RateLimitTable> {
    Arc::new(RateLimitTable::private(LINE, [1; SECRET]).expect("a line of slots"))
}

#[test]
fn no_token_is_granted_twice() {
    loom::model(|| {
        let (table, quota) = (table(), Quota::new(100, 2).expect("a quota"));
        let mut threads = Vec::new();
        for _ in 0..2 {
            let table = table.clone();
            threads.push(thread::spawn(move || table.consume(7, NOW, &quota, 1)));
        }
        let mut waits = vec![table.consume(7, NOW, &quota, 1)];
        waits.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        waits.sort_unstable();
        assert_eq!(waits, [0, 0, 100]);
    });
}

#[test]
fn no_charge_is_lost() {
    loom::model(|| {
        let (table, quota) = (table(), CpuQuota::new(1_000, 100).expect("a quota"));
        let charging = table.clone();
        let thread = thread::spawn(move || charging.charge_cpu(7, NOW, &quota, 90_000));
        let own = table.charge_cpu(7, NOW, &quota, 70_000);
        let other = thread.join().unwrap();
        // The second charge is that which finds the bucket in debt.
        assert_eq!(own.min(other), 0);
        assert_eq!(own.max(other), 60_000);
        assert_eq!(table.charge_cpu(7, NOW, &quota, 0), 60_000);
    });
}

#[test]
fn callers_that_claim_one_free_slot_both_have_a_bucket() {
    loom::model(|| {
        let (table, quota) = (table(), Quota::new(100, 1).expect("a quota"));
        let claiming = table.clone();
        let thread = thread::spawn(move || claiming.consume(7, NOW, &quota, 1));
        assert_eq!(table.consume(8, NOW, &quota, 1), 0);
        assert_eq!(thread.join().unwrap(), 0);
        assert_eq!([7, 8].map(|key| table.wait(key, NOW, &quota, 1)), [100, 100]);
    });
}
