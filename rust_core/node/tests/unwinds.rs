//! Unwinds, reorgs, snapshots and finality.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_chain::{BlockId, FinalityDepth};
use foreseal_journal::RealDisk;
use foreseal_node::{ControlError, Development, Settings};
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload};
use support::{Bench, OTHER_ACCOUNT, balance, fingerprint, restart, settings, start};

#[test]
fn unwound_transactions_return_to_the_pool_and_run_again() {
    let (datadir, wallets, mut bench) = start();
    let mut hashes = Vec::new();
    for nonce in 0..6 {
        hashes
            .push(bench.node.submit(&wallets[0].transfer(nonce, OTHER_ACCOUNT, 7, Fees::default())).unwrap());
        bench.tick();
        if nonce % 2 == 1 {
            bench.seal();
        }
    }
    let before = bench.view();
    assert_eq!(before.latest().number(), 3);
    let old = before.latest().clone();
    bench.node.control(|writer| writer.unwind(1)).unwrap();
    let after = bench.view();
    assert_eq!((after.latest().number(), after.pending().number()), (1, 2));
    let again = after.pending().block.transactions.iter().map(|t| t.hash()).collect::<Vec<_>>();
    assert_eq!(again, hashes[2..]);
    let id = BlockId::Hash { hash: old.block.hash, require_canonical: false };
    assert!(after.resolve(id).is_err(), "the old block is no longer on the chain");
    // A reader that holds the old view still gets the same results.
    assert_eq!(before.resolve(id).unwrap().number(), 3);
    assert_eq!(before.transaction(&hashes[5]).unwrap().unwrap().0.number(), 3);
    drop((before, after, old));
    let bench = restart(&datadir, &wallets, bench);
    assert!(matches!(bench.node.control(|writer| writer.unwind(99)), Err(ControlError::NoSuchBlock(99))));
}

#[test]
fn a_reorg_replaces_blocks_in_one_change() {
    let (datadir, wallets, mut bench) = start();
    let remaining = bench.node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.seal();
    let returned = bench.node.submit(&wallets[0].transfer(1, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.seal();
    bench.seal();
    let before = bench.view();
    let included = wallets[1].transfer(0, OTHER_ACCOUNT, 9, Fees::default());
    let included = Arc::new(foreseal_primitives::Transaction::decode(&included).unwrap());
    let blocks = [Vec::new(), vec![included.clone()]];
    bench.node.develop(|development| development.reorg(&blocks)).unwrap();
    let after = bench.view();
    assert_eq!(after.latest().number(), 3);
    assert_eq!(after.latest().block.header.timestamp, before.latest().block.header.timestamp);
    assert_ne!(after.latest().block.hash, before.latest().block.hash);
    let block_of = |hash: &B256| bench.view().transaction(hash).unwrap().map(|(block, _)| block.number());
    assert_eq!(
        [block_of(&remaining), block_of(&included.hash()), block_of(&returned)],
        [Some(1), Some(3), Some(4)]
    );
    drop((before, after));
    restart(&datadir, &wallets, bench);
}

#[test]
fn a_snapshot_restores_chain_pool_and_time() {
    let (datadir, wallets, mut bench) = start();
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    let mut submit = |bench: &Bench| bench.node.submit(&workload.next_transaction()).unwrap();
    for _ in 0..15 {
        submit(&bench);
        bench.tick();
    }
    bench.node.develop(|development| development.write(&balance(5))).unwrap();
    let pooled = bench.node.submit(&wallets[2].transfer(900, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    let (before, due) = (bench.view(), bench.time_left());
    assert!(before.pending_index() > 2 && before.latest().number() > 0);
    let first = bench.node.develop(|development| development.snapshot()).unwrap();
    let second = bench.node.develop(|development| development.snapshot()).unwrap();
    assert_eq!((first, second), (0, 1));

    for round in 0..2 {
        let id = if round == 0 { second } else { first };
        for _ in 0..25 {
            submit(&bench);
            bench.tick();
        }
        bench.node.develop(|development| development.write(&balance(6))).unwrap();
        bench.node.develop(|development| development.increase_time(1_000)).unwrap();
        bench.node.control(|writer| writer.set_finality(Some(2), Some(1))).unwrap();
        let later = bench.node.submit(&wallets[2].transfer(901, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
        assert!(bench.node.develop(|development| development.revert(id)).unwrap());
        let after = bench.view();
        assert_eq!(fingerprint(&after), fingerprint(&before));
        assert_eq!((after.safe(), after.finalized(), after.pending_index()), (0, 0, before.pending_index()));
        assert!(bench.node.pool().contains(&pooled) && !bench.node.pool().contains(&later));
        assert_eq!(bench.time_left(), due, "as much time is left");
        assert!(
            !bench.node.develop(|development| development.revert(id)).unwrap(),
            "a snapshot is good once"
        );
    }
    assert_eq!(
        bench.node.develop(|development| development.snapshot()).unwrap(),
        2,
        "numbers are not given twice"
    );
    drop(before);
    restart(&datadir, &wallets, bench);
}

#[test]
fn a_snapshot_of_a_removed_block_is_invalid() {
    let (_datadir, _, mut bench) = start();
    (0..3).for_each(|_| bench.seal());
    let id = bench.node.develop(|development| development.snapshot()).unwrap();
    bench.node.control(|writer| writer.unwind(1)).unwrap();
    (0..3).for_each(|_| bench.seal());
    assert!(!bench.node.develop(|development| development.revert(id)).unwrap());
    assert_eq!(bench.view().latest().number(), 4);
}

#[test]
fn snapshots_are_bounded() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let development = Some(Development { snapshots: 2, ..Development::default() });
    let settings = Settings { development, ..settings(datadir.path(), &wallets) };
    let bench = Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap();
    let snapshot = || bench.node.develop(|development| development.snapshot());
    assert_eq!((snapshot().unwrap(), snapshot().unwrap()), (0, 1));
    assert_eq!(snapshot().unwrap_err().to_string(), "at most 2 snapshots are allowed");
    assert!(bench.node.develop(|development| development.revert(1)).unwrap());
    assert_eq!(snapshot().unwrap(), 2);
}

#[test]
fn finality_that_was_set_stops_following() {
    let (datadir, wallets, _) = start();
    let settings = Settings {
        finality: FinalityDepth { safe: 1, finalized: 2 },
        development: Some(Development::default()),
        ..settings(datadir.path(), &wallets)
    };
    let mut bench = Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap();
    (0..4).for_each(|_| bench.seal());
    let finality = |bench: &Bench| (bench.view().safe(), bench.view().finalized());
    assert_eq!(finality(&bench), (3, 2));
    let set = |bench: &Bench, safe, finalized| {
        bench.node.control(|writer| writer.set_finality(safe, finalized)).map_err(|error| error.to_string())
    };
    for (safe, finalized, why) in [
        (Some(2), None, "safe 2 would go back"),
        (None, Some(1), "finalized 1 would go back"),
        (Some(5), None, "safe 5 would pass the latest block"),
        (None, Some(4), "finalized 4 would pass the safe block"),
    ] {
        assert_eq!(set(&bench, safe, finalized).unwrap_err(), why);
    }
    bench.seal();
    assert_eq!(finality(&bench), (4, 3), "what was refused changed nothing");
    set(&bench, Some(5), None).unwrap();
    (0..3).for_each(|_| bench.seal());
    assert_eq!(finality(&bench), (5, 3));
    set(&bench, None, Some(5)).unwrap();
    bench.node.control(|writer| writer.unwind(3)).unwrap();
    assert_eq!(finality(&bench), (3, 3), "a development chain goes back below what is final");
    (0..5).for_each(|_| bench.seal());
    assert_eq!(finality(&bench), (3, 3));
    restart(&datadir, &wallets, bench);
}

#[test]
fn a_read_only_node_unwinds_and_reports_finality() {
    let (datadir, wallets, mut bench) = start();
    (0..4).for_each(|_| bench.seal());
    drop(bench);
    let open = || {
        let settings = Settings {
            produce: false,
            development: Some(Development::default()),
            ..settings(datadir.path(), &wallets)
        };
        let node = support::open_node(settings).unwrap();
        assert!(matches!(node.develop(|development| development.snapshot()), Err(ControlError::Starting)));
        assert!(node.start_stepped().unwrap().is_none());
        node
    };
    let node = open();
    assert!(matches!(node.develop(|development| development.mine(1, None)), Err(ControlError::NotProducing)));
    assert!(matches!(
        node.develop(|development| development.write(&balance(1))),
        Err(ControlError::NotProducing)
    ));
    node.control(|writer| writer.set_finality(Some(4), Some(1))).unwrap();
    assert_eq!(node.view().unwrap().safe(), 4);
    node.control(|writer| writer.unwind(2)).unwrap();
    let shown = |node: &foreseal_node::Node| {
        let view = node.view().unwrap();
        (view.latest().number(), view.pending().number(), view.safe(), view.finalized())
    };
    assert_eq!(shown(&node), (2, 3, 2, 1));
    node.stop();
    assert!(matches!(node.control(|writer| writer.unwind(1)), Err(ControlError::Stopped(_))));
    drop(node);
    assert_eq!(shown(&open()), (2, 3, 2, 1));
}
