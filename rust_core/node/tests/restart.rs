//! The state after a restart.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{path::Path, sync::Arc};

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_chain::{SteppedClock, View, datadir::DataDirError};
use foreseal_journal::RealDisk;
use foreseal_node::{NodeError, Settings, import_chain};
use foreseal_pool::{QueuedReason, Status};
use foreseal_replication::PoolStart;
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload};
use support::{Bench, open_node, settings};

/// Returns the identity of everything that a view shows.
fn fingerprint(view: &View) -> Vec<(u64, B256, usize)> {
    let blocks = (0..=view.latest().number())
        .map(|n| view.sealed(n).unwrap().unwrap())
        .chain([view.pending().clone()]);
    blocks.map(|b| (b.number(), b.block.hash, b.block.transactions.len())).collect()
}

/// Blocks, index of the newest step, header of the block being built and its number of steps. The view itself
/// is not retained, because it keeps the store open.
type Shown = (Vec<(u64, B256, usize)>, u64, Header, usize);

fn shown(view: &View) -> Shown {
    let pending = view.pending();
    (fingerprint(view), view.pending_index(), pending.block.header.clone(), pending.steps.len())
}

/// Settings of a node that does not produce.
fn serving(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings { produce: false, ..settings(datadir, wallets) }
}

fn busy(bench: &mut Bench, workload: &mut Workload, ticks: usize) {
    for _ in 0..ticks {
        for _ in 0..3 {
            bench.node.submit(&workload.next_transaction()).unwrap();
        }
        bench.tick();
    }
}

/// Invariants 4 and 6, after a kill: nothing pre-confirmed is lost, and the replay gives the same headers.
#[test]
fn a_killed_node_restarts_at_the_same_step_and_continues() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(4);
    let clock = Arc::new(SteppedClock::default());
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 7);
    let mut before: Option<(Shown, u64)> = None;
    for round in 0..6 {
        let settings = settings(datadir.path(), &wallets);
        let mut bench = Bench::open(settings, clock.clone(), Arc::new(RealDisk)).unwrap();
        if let Some((before, _)) = &before {
            assert_eq!(shown(&bench.view()), *before, "round {round}");
            assert_eq!(bench.node.status().pool_start, PoolStart::LostInCrash);
        }
        busy(&mut bench, &mut workload, 17);
        let view = bench.view();
        before = Some((shown(&view), view.latest().number()));
        // Dropped without `stop`: only the journal's content is saved.
    }
    assert!(before.unwrap().1 >= 8);
}

#[test]
fn a_stop_saves_the_pool_and_a_crash_loses_it() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(2);
    let open = || open_node(serving(datadir.path(), &wallets)).unwrap();
    let node = open();
    assert!(node.start_stepped().unwrap().is_none());
    assert_eq!(node.status().pool_start, PoolStart::New);
    let raw = wallets[0].transfer(0, wallets[1].address, 7, Fees::default());
    let hash = node.submit(&raw).unwrap();
    node.save().unwrap();
    drop(node);

    let node = open();
    node.start_stepped().unwrap();
    assert_eq!(node.status().pool_start, PoolStart::Restored(1));
    assert!(node.pool().contains(&hash));
    drop(node);

    let node = open();
    node.start_stepped().unwrap();
    assert!(!node.pool().contains(&hash), "a pool is restored once");
    assert_eq!(node.status().pool_start, PoolStart::LostInCrash);
}

/// Pooled transactions are not pre-confirmed: a damaged pool file must not prevent a start.
#[test]
fn a_damaged_saved_pool_is_ignored() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    std::fs::write(datadir.path().join("pool.bin"), b"fsl-pool damaged").unwrap();
    let node = open_node(serving(datadir.path(), &wallets)).unwrap();
    node.start_stepped().unwrap();
    assert_eq!(node.status().pool_start, PoolStart::LostInCrash);
    assert_eq!(node.pool().counts().pooled, 0);
}

#[test]
fn the_first_run_after_an_import_lost_nothing() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let mut bench = Bench::new(datadir.path(), &wallets);
    bench.seal();
    let mut bytes = Vec::new();
    bench.view().latest().block.encode(&mut bytes);
    let (elsewhere, file) = (tempfile::tempdir().unwrap(), datadir.path().join("chain.rlp"));
    std::fs::write(&file, bytes).unwrap();
    let settings = serving(elsewhere.path(), &wallets);
    import_chain(&settings, Arc::new(RealDisk), &file, &mut |_| true).unwrap();
    let node = open_node(settings).unwrap();
    node.start_stepped().unwrap();
    assert_eq!(node.view().unwrap().latest().number(), 1);
    assert_eq!(node.status().pool_start, PoolStart::New);
}

/// A node that does not produce has fees too, and a transaction below them waits.
#[test]
fn the_pool_has_the_fees_before_the_first_step() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let node = open_node(serving(datadir.path(), &wallets)).unwrap();
    node.start_stepped().unwrap();
    let base_fee = u128::from(node.view().unwrap().pending().block.header.base_fee_per_gas.unwrap());
    let fees = Fees { max_fee: base_fee - 1, tip: 1 };
    let hash = node.submit(&wallets[0].transfer(0, wallets[0].address, 1, fees)).unwrap();
    let waiting = QueuedReason::BaseFee { max_fee: base_fee - 1, base_fee };
    assert_eq!(node.pool().status(&hash), Status::Queued(waiting));
}

/// A genesis that is rejected leaves the data directory free for another one.
#[test]
fn a_rejected_genesis_is_not_stored() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let good = serving(datadir.path(), &wallets);
    let mut bad = good.clone();
    bad.genesis.as_mut().unwrap().config.amsterdam_time = Some(0);
    assert!(matches!(open_node(bad).err(), Some(NodeError::DataDir(DataDirError::Genesis(_)))));
    assert!(open_node(good).is_ok());
}

#[test]
fn a_second_writer_is_rejected() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let _first = Bench::new(datadir.path(), &wallets);
    let second = Bench::open(settings(datadir.path(), &wallets), Arc::default(), Arc::new(RealDisk));
    assert!(matches!(second.err(), Some(NodeError::DataDir(DataDirError::InUse(_)))));
}

#[test]
fn another_genesis_is_rejected_and_the_stored_one_is_default() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let hash = Bench::new(datadir.path(), &wallets).view().latest().block.hash;
    let other = Bench::open(settings(datadir.path(), &Wallet::some(2)), Arc::default(), Arc::new(RealDisk));
    assert!(matches!(other.err(), Some(NodeError::DataDir(DataDirError::OtherGenesis { .. }))));
    let mut unnamed = settings(datadir.path(), &wallets);
    unnamed.genesis = None;
    let bench = Bench::open(unnamed, Arc::default(), Arc::new(RealDisk)).unwrap();
    assert_eq!(bench.view().sealed(0).unwrap().unwrap().block.hash, hash);
}
