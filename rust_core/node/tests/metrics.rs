//! Metrics count the work that was done; durations use the clock that the node was given.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{sync::atomic::Ordering, time::Duration};

use foreseal_node::{BOUNDS, StepStage};
use foreseal_testkit::{Fees, Wallet};
use support::Bench;

#[test]
fn steps_and_blocks_are_counted() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(2);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let opened = bench.node.metrics().work.append.cumulative()[BOUNDS.len()];
    for nonce in 0..3 {
        let raw = wallets[0].transfer(nonce, wallets[1].address, 7, Fees::default());
        bench.node.submit(&raw).unwrap();
    }
    bench.tick();
    while bench.view().latest().number() < 2 {
        bench.tick();
    }
    bench.node.drain().unwrap();
    let metrics = bench.node.metrics();
    let work = &metrics.work;
    let counts =
        [&work.steps, &work.transactions, &work.gas, &work.blocks].map(|n| n.load(Ordering::Relaxed));
    assert_eq!(counts, [1, 3, 63_000, 2]);
    for stage in StepStage::ALL {
        // The clock does not advance while a step is made.
        assert_eq!(work.stage(stage).cumulative(), vec![1; BOUNDS.len() + 1], "{}", stage.name());
        assert_eq!(work.stage(stage).total(), Duration::ZERO);
    }
    assert_eq!(
        work.append.cumulative()[BOUNDS.len()] - opened,
        3,
        "a step, and two seals with what they open"
    );
    assert!(work.commit.cumulative()[BOUNDS.len()] > 0);
    assert_eq!(work.journal_segments.load(Ordering::Relaxed), 1);
    assert_eq!(work.journal_written.load(Ordering::Relaxed) % 512, 0);
    assert!(metrics.store.used > 0 && metrics.store.used < metrics.store.limit);
    assert_eq!((metrics.pool.added, metrics.pool.replaced), (3, 0));
    assert!(metrics.pool.dropped().all(|(_, count)| count == 0));
}

#[test]
fn transactions_leaving_the_pool_are_counted_by_reason() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(2);
    let bench = Bench::new(datadir.path(), &wallets);
    for tip in 1..=3_u128 {
        let fees = Fees { max_fee: tip * 10_000_000_000, tip: tip * 1_000_000_000 };
        bench.node.submit(&wallets[0].transfer(0, wallets[1].address, 7, fees)).unwrap();
    }
    let hash = bench.node.pool().all()[0].hash();
    bench.node.pool().discard(&hash, foreseal_pool::DropReason::Requested).unwrap();
    let metrics = bench.node.metrics().pool;
    assert_eq!((metrics.added, metrics.replaced), (3, 2));
    let dropped: Vec<_> = metrics.dropped().filter(|(_, count)| *count > 0).collect();
    assert_eq!(dropped, [("requested", 1)]);
}
