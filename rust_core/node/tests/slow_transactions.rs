//! Transactions that take longer than a step allows, in a node.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{path::Path, sync::Arc, time::Duration};

use foreseal_journal::RealDisk;
use foreseal_pool::{DropReason, Status};
use foreseal_testkit::{Fees, Wallet, test_genesis};
use support::{Bench, OTHER_ACCOUNT, fingerprint, open_node, settings};

/// Seconds of a block: the clock of the test runs fast, and a slow transaction must end within its block.
const BLOCK_TIME: u64 = 1_000_000;
/// Maximum number of steps; the thread of a slow transaction runs between them.
const MAX_STEPS: usize = 3_000_000;

fn open(datadir: &Path, wallets: &[Wallet]) -> Bench {
    let mut chosen = settings(datadir, wallets);
    chosen.production.block_time = BLOCK_TIME;
    Bench::open(chosen, Arc::default(), Arc::new(RealDisk)).unwrap()
}

#[test]
fn a_stopped_transaction_is_in_a_later_step_and_survives_a_restart() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let mut bench = open(datadir.path(), &wallets);
    // Each transaction is stopped before its first instruction.
    bench.producer.limit_transaction_time(Duration::ZERO);
    let hashes: Vec<_> = (0..2)
        .flat_map(|nonce| wallets.iter().map(move |wallet| (wallet, nonce)))
        .map(|(wallet, nonce)| {
            let raw = wallet.transfer(nonce, OTHER_ACCOUNT, 1, Fees::default());
            bench.node.submit(&raw).unwrap()
        })
        .collect();
    bench.tick();
    assert!(bench.view().pending().block.transactions.is_empty());
    let is_included = |bench: &Bench| {
        let view = bench.view();
        hashes.iter().all(|hash| view.transaction(hash).unwrap().is_some())
    };
    let steps = (0..MAX_STEPS).take_while(|_| {
        bench.tick();
        std::thread::yield_now();
        !is_included(&bench)
    });
    assert!(steps.count() < MAX_STEPS);
    assert_eq!(bench.node.pool().counts().pooled, 0);
    let before = fingerprint(&bench.view());
    bench.node.stop();
    drop(bench);
    // A replay executes the same transactions without a limit.
    let bench = open(datadir.path(), &wallets);
    assert_eq!(fingerprint(&bench.view()), before);
}

/// The clock runs so fast that blocks are sealed while the thread executes.
#[test]
fn each_slow_transaction_is_included_or_dropped_with_a_reason() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(20));
    let mut bench = Bench::new(datadir.path(), &wallets);
    bench.producer.limit_transaction_time(Duration::ZERO);
    let hashes: Vec<_> = wallets
        .iter()
        .map(|wallet| bench.node.submit(&wallet.transfer(0, OTHER_ACCOUNT, 1, Fees::default())).unwrap())
        .collect();
    let steps = (0..MAX_STEPS).take_while(|_| {
        bench.tick();
        bench.node.pool().counts().pooled > 0
    });
    assert!(steps.count() < MAX_STEPS);
    let view = bench.view();
    for hash in hashes {
        match bench.node.pool().status(&hash) {
            Status::Dropped(DropReason::Rejected(reason)) => {
                assert!(reason.starts_with("it takes longer than a step"), "{reason}");
            }
            status => assert!(view.transaction(&hash).unwrap().is_some(), "{status:?}"),
        }
    }
}

#[test]
fn a_gas_limit_beyond_an_append_of_the_journal_is_rejected() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut genesis = test_genesis(&wallets);
    (genesis.config.osaka_time, genesis.config.bpo1_time, genesis.config.bpo2_time) = (None, None, None);
    genesis.config.blob_schedule.retain(|fork, _| ["cancun", "prague"].contains(&fork.as_str()));
    let chosen = |gas_limit| {
        let mut chosen = settings(datadir.path(), &wallets);
        chosen.genesis = Some(genesis.clone());
        chosen.production.gas_limit = Some(gas_limit);
        chosen
    };
    let error = open_node(chosen((6 << 30) + 1)).err().unwrap();
    assert!(error.to_string().contains("gas limit must be at most 6442450944, got 6442450945"), "{error}");
    assert!(open_node(chosen(6 << 30)).is_ok());
}
