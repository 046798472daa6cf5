//! A store that fails, and one that is ahead of its journal.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{fs, ops::ControlFlow, path::Path, sync::Arc};

use foreseal_journal::RealDisk;
use foreseal_node::{Development, JournalRepair, Node, NodeError, Settings, StartError, StoreSettings};
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use support::{Bench, environment, fingerprint, settings};

fn development(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings { development: Some(Development::default()), ..settings(datadir, wallets) }
}

fn busy(bench: &mut Bench, workload: &mut Workload, blocks: u64) {
    for _ in 0..blocks {
        bench.node.submit(&workload.next_transaction()).unwrap();
        bench.node.develop(|development| development.mine(1, None)).unwrap();
    }
}

fn verify(bench: &Bench) {
    bench.node.drain().unwrap();
    let verified = bench.node.store().verify(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(verified.faults, []);
    assert_eq!(verified.head.unwrap().hash, bench.view().latest().block.hash);
}

/// The journal has blocks that the store lacks: reads continue, and with more space the node recovers fully.
#[test]
fn a_full_store_ends_production_but_not_reads() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(8));
    let mut bench = Bench::developing(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    busy(&mut bench, &mut workload, 300);
    // A start waits for the store at this record.
    bench.node.control(|writer| writer.unwind(299)).unwrap();
    let (before, clock) = (fingerprint(&bench.view()), bench.clock.clone());
    drop(bench);

    fs::remove_dir_all(datadir.path().join("store")).unwrap();
    let store = StoreSettings { map_size: 1 << 20, ..StoreSettings::default() };
    let small = Settings { store, ..development(datadir.path(), &wallets) };
    let node = Node::open(small, environment(clock.clone())).unwrap();
    let error = node.start_stepped().map(drop).unwrap_err().to_string();
    assert!(error.contains("cannot write the store"), "{error}");
    assert_eq!(fingerprint(&node.view().expect("what is durable is shown")), before);
    drop(node);

    let mut bench = Bench::open(development(datadir.path(), &wallets), clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(fingerprint(&bench.view()), before);
    bench.seal();
    verify(&bench);
}

/// Ends the process, restores the journal from `copy`, and starts again.
fn with_older_journal(datadir: &Path, wallets: &[Wallet], bench: Bench, copy: &Path) -> Bench {
    bench.node.drain().unwrap();
    let clock = bench.clock.clone();
    drop(bench);
    fs::remove_dir_all(datadir.join("journal")).unwrap();
    copy_folder(copy, &datadir.join("journal"));
    let open = || Bench::open(development(datadir, wallets), clock.clone(), Arc::new(RealDisk));
    let rejection = open().err().unwrap();
    assert!(matches!(rejection, NodeError::Start(StartError::Lost { .. })), "{rejection}");
    JournalRepair::plan(datadir).unwrap().apply().unwrap();
    open().unwrap()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Blocks and unwinds in the store that the journal no longer contains are reverted.
#[test]
fn a_store_reverts_to_the_end_of_its_journal() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(8));
    let mut bench = Bench::developing(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 4);
    busy(&mut bench, &mut workload, 10);
    let before = fingerprint(&bench.view());
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("journal");
    copy_folder(&datadir.path().join("journal"), &copy);

    busy(&mut bench, &mut workload, 5);
    let bench = with_older_journal(datadir.path(), &wallets, bench, &copy);
    assert_eq!(fingerprint(&bench.view()), before, "blocks are taken back");
    verify(&bench);

    bench.node.control(|writer| writer.unwind(5)).unwrap();
    let bench = with_older_journal(datadir.path(), &wallets, bench, &copy);
    assert_eq!(fingerprint(&bench.view()), before, "an unwind is taken back");
    verify(&bench);
}
