//! Concurrent readers, and the limits of the data retained for them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{sync::Arc, time::Duration};

use foreseal_chain::{BlockId, Clock, ResolveError, STEP_WINDOW};
use foreseal_simulated_disk::SimulatedDisk;
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload};
use support::{Bench, settings};

/// Timeout far above the duration of the test's ticks, in case the writer blocks.
const PATIENCE: Duration = Duration::from_secs(30);

/// Invariant 7: a reader never blocks the sequencer.
#[test]
fn a_retained_view_never_blocks_the_writer() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(3);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets, TransactionKinds::Transfers, 3);
    let retained = bench.view();
    let (node, hash) = (bench.node.clone(), retained.pending().block.hash);
    let (done, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for _ in 0..25 {
            bench.node.submit(&workload.next_transaction()).unwrap();
            bench.tick();
        }
        done.send(bench).unwrap();
    });
    let _bench = finished.recv_timeout(PATIENCE).expect("the writer waits for a reader");
    assert_eq!(node.view().unwrap().latest().number(), 2);
    assert_eq!(retained.pending().block.hash, hash);
    assert_eq!(retained.latest().number(), 0);
}

/// Invariant 8: the window of resolvable steps is limited.
#[test]
fn steps_are_resolved_for_the_last_1024_blocks_only() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(2);
    let mut settings = settings(datadir.path(), &wallets);
    (settings.production.block_time, settings.production.step) = (1, Duration::from_secs(1));
    let mut bench = Bench::open(settings, Arc::default(), Arc::new(SimulatedDisk::default())).unwrap();
    // A step with a transaction follows step 0 of every block.
    let mut openings = vec![bench.view().pending().block.hash];
    for nonce in 0..STEP_WINDOW + 3 {
        bench.node.submit(&wallets[0].transfer(nonce, wallets[1].address, 1, Fees::default())).unwrap();
        bench.clock.advance(Duration::from_secs(1));
        bench.producer.tick(bench.clock.now(), &mut || true).unwrap();
        let view = bench.view();
        assert_eq!((view.latest().number(), view.pending_index()), (nonce + 1, 1));
        openings.push(view.resolve(BlockId::Step { number: nonce + 2, index: 0 }).unwrap().block.hash);
    }
    let view = bench.view();
    let last_gone = view.latest().number() - STEP_WINDOW;
    for number in 2..=view.latest().number() {
        let hash = openings[usize::try_from(number - 1).unwrap()];
        let by_hash = |require_canonical| view.resolve(BlockId::Hash { hash, require_canonical });
        let by_position = view.resolve(BlockId::Step { number, index: 0 });
        if number <= last_gone {
            assert_eq!(by_hash(false).err(), Some(ResolveError::NotFound), "block {number}");
            assert_eq!(by_hash(true).err(), Some(ResolveError::NotFound), "block {number}");
            assert_eq!(by_position.err(), Some(ResolveError::NotFound), "block {number}");
        } else {
            assert_eq!(by_hash(false).unwrap().block.hash, hash, "block {number}");
            assert_eq!(by_hash(true).err(), Some(ResolveError::NotCanonical), "block {number}");
            assert_eq!(by_position.unwrap().block.transactions.len(), 0, "block {number}");
        }
        let sealed = view.sealed(number).unwrap().unwrap();
        let id = BlockId::Hash { hash: sealed.block.hash, require_canonical: true };
        assert_eq!(view.resolve(id).unwrap().number(), number);
    }
}
