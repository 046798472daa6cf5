//! Production: ticks, steps and seals.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use foreseal_chain::Clock;
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload};
use support::{Bench, genesis_chain};

#[test]
fn a_tick_without_transactions_makes_no_step() {
    let datadir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(datadir.path(), &Wallet::some(1));
    let before = bench.view();
    bench.tick();
    let after = bench.view();
    assert_eq!(after.pending_index(), before.pending_index());
    assert_eq!(after.pending().block.hash, before.pending().block.hash);
}

#[test]
fn a_submission_is_in_the_next_step() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(2);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let raw = wallets[0].transfer(0, wallets[1].address, 7, Fees::default());
    let hash = bench.node.submit(&raw).unwrap();
    assert!(bench.view().transaction(&hash).unwrap().is_none());
    bench.tick();
    let view = bench.view();
    let (block, index) = view.transaction(&hash).unwrap().expect("it is pre-confirmed");
    assert_eq!((block.number(), index, view.pending_index()), (1, 0, 1));
    assert_eq!(block.block.header.gas_used, 21_000);
    assert!(!bench.node.pool().contains(&hash), "what is pre-confirmed has left the pool");
}

#[test]
fn a_block_sealed_at_slot_end_has_the_last_hash() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(4);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets, TransactionKinds::WithoutBlobs, 1);
    for _ in 0..20 {
        let number = bench.view().pending().number();
        let mut last = bench.view();
        while bench.view().latest().number() < number {
            for _ in 0..5 {
                bench.node.submit(&workload.next_transaction()).unwrap();
            }
            last = bench.view();
            bench.tick();
        }
        let view = bench.view();
        let sealed = view.sealed(number).unwrap().unwrap();
        assert_eq!(sealed.block.hash, last.pending().block.hash, "the last step is the block");
        assert_eq!(sealed.block.header.timestamp, 1_000_000 + 2 * number);
        assert_eq!(view.pending().number(), number + 1);
        assert_eq!(view.pending().block.header.parent_hash, sealed.block.hash);
    }
}

/// Invariant 2: the steps of a block append transactions and never remove or reorder them.
#[test]
fn later_steps_of_a_block_only_add_transactions() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(4);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets, TransactionKinds::WithoutBlobs, 2);
    let mut steps = 0;
    for _ in 0..100 {
        let before = bench.view();
        for _ in 0..3 {
            bench.node.submit(&workload.next_transaction()).unwrap();
        }
        bench.tick();
        let after = bench.view();
        if after.pending().number() != before.pending().number() {
            continue;
        }
        let (old, new) = (&before.pending().block, &after.pending().block);
        assert_eq!(after.pending_index(), before.pending_index() + 1);
        assert!(new.header.gas_used > old.header.gas_used);
        assert!(new.transactions.len() > old.transactions.len());
        let prefix = new.transactions.take(old.transactions.len());
        assert!(prefix.iter().zip(&old.transactions).all(|(a, b)| a.hash() == b.hash()));
        assert_ne!(new.hash, old.hash);
        steps += 1;
    }
    assert!(steps > 50);
}

#[test]
fn every_step_stays_resolvable_by_hash_and_position() {
    use foreseal_chain::{BlockId, ResolveError};
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(3);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets, TransactionKinds::WithoutBlobs, 3);
    let mut seen = Vec::new();
    while bench.view().latest().number() < 3 {
        bench.node.submit(&workload.next_transaction()).unwrap();
        bench.tick();
        let view = bench.view();
        seen.push((view.pending_index(), view.pending().clone()));
    }
    let view = bench.view();
    for (index, then) in seen {
        let (number, hash) = (then.number(), then.block.hash);
        let by_hash = view.resolve(BlockId::Hash { hash, require_canonical: false }).unwrap();
        let by_position = view.resolve(BlockId::Step { number, index }).unwrap();
        for block in [by_hash, by_position] {
            assert_eq!(block.block.header, then.block.header);
            assert_eq!(block.block.transactions, then.block.transactions);
            assert_eq!(block.block.size(), then.block.size());
            assert_eq!(block.state.root(), then.block.header.state_root);
        }
        let canonical = view.resolve(BlockId::Hash { hash, require_canonical: true });
        let newest = view.at(number).unwrap().unwrap().block.hash == hash;
        assert_eq!(canonical.err(), (!newest).then_some(ResolveError::NotCanonical));
    }
}

/// Invariant 5: the age that readers see is the time since the last tick.
#[test]
fn the_age_grows_when_ticks_stop() {
    let datadir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(datadir.path(), &Wallet::some(1));
    bench.tick();
    assert_eq!(bench.node.status().age.as_millis(), 0);
    bench.clock.advance(std::time::Duration::from_secs(6));
    let status = bench.node.status();
    assert_eq!(status.age.as_secs(), 6);
    assert!(status.healthy(bench.node.tick_limit()).unwrap_err().contains("last tick 6000 ms ago"));
    bench.tick();
    assert!(bench.node.status().healthy(bench.node.tick_limit()).is_ok());
}

/// Every produced block, imported from its bytes into a separate chain, has the same hash. So every root,
/// receipt and request is computed a second time.
#[test]
fn produced_blocks_reexecute_to_the_same_hash() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(6);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets, TransactionKinds::WithoutBlobs, 4);
    while bench.view().latest().number() < 30 {
        for _ in 0..12 {
            bench.node.submit(&workload.next_transaction()).unwrap();
        }
        bench.tick();
    }
    let view = bench.view();
    let mut outside = genesis_chain(&bench.node);
    for number in 1..=30 {
        let sealed = view.sealed(number).unwrap().unwrap();
        let mut bytes = Vec::new();
        sealed.block.encode(&mut bytes);
        assert_eq!(bytes.len(), sealed.block.size());
        outside.import(&bytes).unwrap();
        assert_eq!(outside.latest().block.hash, sealed.block.hash);
        assert_eq!(outside.latest().block.receipts, sealed.block.receipts);
    }
}

/// A reader that queries the pool first and then the newest view finds every submission in one of them.
#[test]
fn a_transaction_is_always_in_the_pool_or_the_view() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(2);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let node = bench.node.clone();
    let (submitted, watched) = std::sync::mpsc::channel();
    let watcher = std::thread::spawn(move || {
        let (mut polls, mut current) = (0_u64, None);
        loop {
            match watched.try_recv() {
                Ok(hash) => current = Some(hash),
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return polls,
                Err(std::sync::mpsc::TryRecvError::Empty) => {}
            }
            let Some(hash) = current else { continue };
            let pooled = node.pool().contains(&hash);
            assert!(
                pooled || node.view().unwrap().transaction(&hash).unwrap().is_some(),
                "{hash} is in neither"
            );
            polls += 1;
        }
    });
    for nonce in 0..200 {
        let raw = wallets[0].transfer(nonce, wallets[1].address, 1, Fees::default());
        submitted.send(bench.node.submit(&raw).unwrap()).unwrap();
        bench.tick();
    }
    drop(submitted);
    assert!(watcher.join().unwrap() > 0);
}

/// Invariant 7: neither submissions nor reads wait for a step that is being made.
#[test]
fn submissions_and_reads_continue_during_a_step() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(3);
    let mut bench = Bench::new(datadir.path(), &wallets);
    bench.node.submit(&wallets[0].transfer(0, wallets[2].address, 1, Fees::default())).unwrap();
    let late = wallets[1].transfer(0, wallets[2].address, 1, Fees::default());
    let (node, clock) = (bench.node.clone(), bench.clock.clone());
    let before = bench.view();
    let mut checks = 0;
    bench.clock.advance(support::STEP);
    let mut during = || {
        checks += 1;
        if checks == 1 {
            node.submit(&late).unwrap();
            assert_eq!(node.view().unwrap().pending().block.hash, before.pending().block.hash);
        }
        true
    };
    bench.producer.tick(clock.now(), &mut during).unwrap();
    assert!(checks > 0);
    bench.tick();
    assert_eq!(bench.view().pending().block.transactions.len(), 2);
}
