//! The node's store stays consistent under all operations.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{ops::ControlFlow, path::Path, sync::Arc};

use alloy_primitives::B256;
use foreseal_chain::{BlockId, CacheSizes, ResolveError, SteppedClock, View};
use foreseal_journal::RealDisk;
use foreseal_node::{Development, InspectionPoint, Node, Producer, Settings, StoreSettings, Watcher};
use foreseal_state::StateError;
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload};
use support::{Bench, OTHER_ACCOUNT, balance, settings};

/// Waits until the store has everything, and verifies it completely.
fn assert_consistent(bench: &Bench) {
    bench.node.drain().unwrap();
    let view = bench.view();
    let verified = bench.node.store().verify(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(verified.faults, []);
    assert_eq!(verified.head.unwrap().hash, view.latest().block.hash);
}

/// Returns the hashes of the sealed blocks and of the pending one. Steps are left out: those before an unwind
/// so far back cannot be restored.
fn hashes(view: &View) -> Vec<B256> {
    let sealed = (0..=view.latest().number()).map(|number| view.sealed(number).unwrap().unwrap().block.hash);
    sealed.chain([view.pending().block.hash]).collect()
}

/// Data that is read from the store again while the chain grows matches the roots, and so does everything
/// written.
#[test]
fn a_continuing_chain_has_a_consistent_store() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(8);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets, TransactionKinds::WithoutBlobs, 5);
    for block in 0..120 {
        for round in 0..3 {
            for _ in 0..(block + round) % 7 {
                bench.node.submit(&workload.next_transaction()).unwrap();
            }
            bench.tick();
        }
        bench.seal();
    }
    assert_consistent(&bench);
}

/// Beyond the proof window the store restores the trie nodes of that block, and the chain continues from
/// there.
#[test]
fn a_chain_unwinds_beyond_the_proof_window() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(3));
    // The cache would answer for removed blocks that the unwind has read.
    let caches = CacheSizes { blocks: 0, ..CacheSizes::default() };
    let settings = || Settings {
        development: Some(Development::default()),
        store: StoreSettings { caches, ..StoreSettings::default() },
        ..settings(datadir.path(), &wallets)
    };
    let mut bench = Bench::open(settings(), Arc::new(SteppedClock::default()), Arc::new(RealDisk)).unwrap();
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::Transfers, 7);
    for _ in 0..40 {
        bench.node.submit(&workload.next_transaction()).unwrap();
        bench.tick();
    }
    let early = bench.view().latest().number();
    let snapshot = bench.node.develop(|development| development.snapshot()).unwrap();
    let then = hashes(&bench.view());
    bench.node.develop(|development| development.write(&balance(5))).unwrap();
    bench.node.develop(|development| development.mine(1_100, None)).unwrap();
    bench.node.submit(&workload.next_transaction()).unwrap();
    bench.tick();
    let old = bench.view();
    assert!(bench.node.develop(|development| development.revert(snapshot)).unwrap());
    assert_eq!(hashes(&bench.view()), then);
    let reorged = (early + 1..early + 200).map(|number| (number, old.resolve(BlockId::Number(number))));
    let (resolved, unavailable): (Vec<_>, Vec<_>) = reorged.partition(|(_, result)| result.is_ok());
    assert!(
        resolved.iter().all(|(number, result)| result.as_ref().is_ok_and(|block| block.number() == *number))
    );
    assert!(
        unavailable.iter().all(|(_, result)| matches!(result, Err(ResolveError::Read(StateError::ViewGone))))
    );
    assert!(!unavailable.is_empty(), "more blocks than are kept in memory");
    assert_consistent(&bench);

    bench.node.develop(|development| development.mine(1_100, None)).unwrap();
    bench.node.control(|writer| writer.unwind(early)).unwrap();
    assert_eq!(bench.view().latest().number(), early);
    assert!(!bench.view().pending().block.transactions.is_empty(), "what was undone is built again");
    drop(old);
    let (then, clock) = (hashes(&bench.view()), bench.clock.clone());
    drop(bench);
    let bench = Bench::open(settings(), clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(hashes(&bench.view()), then);
    assert_consistent(&bench);
}

struct NoWatcher;

impl Watcher for NoWatcher {
    fn reached(&self, _point: InspectionPoint) {}
}

/// Returns a node whose store is written only when the chain would wait for it.
fn with_a_slow_store(datadir: &Path, wallets: &[Wallet]) -> (Node, Producer) {
    let development = Some(Development::default());
    let node = support::open_node(Settings { development, ..settings(datadir, wallets) }).unwrap();
    let producer = node.start_watched(Arc::new(NoWatcher)).unwrap().unwrap();
    (node, producer)
}

/// After many blocks mined at once, accounts untouched for longer than trie nodes are retained can still be
/// read.
#[test]
fn a_chain_continues_after_many_blocks_with_a_slow_store() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(256));
    let (node, _producer) = with_a_slow_store(datadir.path(), &wallets);
    let mine = |blocks| node.develop(|development| development.mine(blocks, None)).unwrap();
    mine(40);
    node.drain().unwrap();
    // The chain unloads the state that the store has.
    mine(40);
    mine(1_600);
    node.drain().unwrap();
    for wallet in &wallets[..32] {
        node.submit(&wallet.transfer(0, OTHER_ACCOUNT, 1, Fees::default())).unwrap();
    }
    mine(1);
}
