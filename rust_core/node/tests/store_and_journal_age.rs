//! Start of a chain whose store and journal are from different moments.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use foreseal_chain::{BlockWindow, SteppedClock};
use foreseal_journal::RealDisk;
use foreseal_node::{Development, Settings, StoreSettings};
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use support::{Bench, balance, fingerprint, settings};

/// A development chain with few blocks in memory and the shortest journal retention.
fn small(datadir: &Path, wallets: &[Wallet]) -> Settings {
    let recent = BlockWindow { blocks: 2, transactions: 10, ..BlockWindow::default() };
    Settings {
        store: StoreSettings { recent, retention: 0, ..StoreSettings::default() },
        development: Some(Development::default()),
        segment_bytes: 1 << 16,
        ..settings(datadir, wallets)
    }
}

fn busy(bench: &mut Bench, workload: &mut Workload, blocks: u64) {
    for _ in 0..blocks {
        for _ in 0..2 {
            // The submission may be rejected after an unwind.
            let _ = bench.node.submit(&workload.next_transaction());
            bench.tick();
        }
        bench.node.develop(|development| development.mine(1, None)).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn replace(from: &Path, to: &Path) {
    fs::remove_dir_all(to).unwrap();
    copy(from, to);
}

/// Returns the paths of the journal's segments, sorted.
fn segments(datadir: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> =
        fs::read_dir(datadir.join("journal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

fn assert_consistent(bench: &Bench) {
    bench.node.drain().unwrap();
    let verified = bench.node.store().verify(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(verified.faults, []);
    assert_eq!(verified.head.unwrap().hash, bench.view().latest().block.hash);
}

fn start_error(settings: Settings, clock: &Arc<SteppedClock>) -> String {
    match Bench::open(settings, clock.clone(), Arc::new(RealDisk)) {
        Ok(_) => panic!("it starts"),
        Err(error) => error.to_string(),
    }
}

/// Segments that the store has passed are removed. A start reports data that both lack, and changes nothing.
#[test]
fn a_store_older_than_the_journal_names_missing_segments() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(4));
    let (datadir, aside) = (folder.path().join("data"), folder.path().join("aside"));
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 31);
    let clock = Arc::<SteppedClock>::default();
    let mut bench = Bench::open(small(&datadir, &wallets), clock.clone(), Arc::new(RealDisk)).unwrap();
    busy(&mut bench, &mut workload, 5);
    bench.node.drain().unwrap();
    copy(&datadir.join("store"), &aside.join("older"));
    busy(&mut bench, &mut workload, 60);
    bench.node.drain().unwrap();
    busy(&mut bench, &mut workload, 1);
    bench.node.drain().unwrap();
    let before = fingerprint(&bench.view());
    drop(bench);
    let first = segments(&datadir)[0].clone();
    assert!(!first.to_string_lossy().contains("0000000001."), "the first segment is gone: {first:?}");
    let open = || Bench::open(small(&datadir, &wallets), clock.clone(), Arc::new(RealDisk));
    let mut bench = open().unwrap();
    assert_eq!(fingerprint(&bench.view()), before);
    busy(&mut bench, &mut workload, 2);
    assert_consistent(&bench);
    let before = fingerprint(&bench.view());
    drop(bench);

    for name in ["store", "journal"] {
        copy(&datadir.join(name), &aside.join(name));
    }
    fs::remove_dir_all(datadir.join("store")).unwrap();
    let error = start_error(small(&datadir, &wallets), &clock);
    assert!(error.starts_with("the store is empty, and the journal begins after block 1"), "{error}");
    replace(&aside.join("older"), &datadir.join("store"));
    let gap = start_error(small(&datadir, &wallets), &clock);
    assert!(gap.contains("but the journal has lost what follows"), "{gap}");
    replace(&aside.join("store"), &datadir.join("store"));
    fs::remove_dir_all(datadir.join("journal")).unwrap();
    let error = start_error(small(&datadir, &wallets), &clock);
    assert!(error.starts_with("the journal is empty, but the store holds"), "{error}");
    replace(&aside.join("journal"), &datadir.join("journal"));
    let bench = open().unwrap();
    assert_eq!(fingerprint(&bench.view()), before);
    assert_consistent(&bench);
}

/// A disk may lose the store's last writes, never the journal's: every commit of the store leads to the same
/// chain.
#[test]
fn a_store_copied_at_any_time_yields_the_same_chain() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(4));
    let datadir = folder.path().join("data");
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 33);
    let clock = Arc::<SteppedClock>::default();
    let retaining = |datadir: &Path| Settings {
        store: StoreSettings { retention: 1_024, ..small(datadir, &wallets).store },
        // The copies do not include the key.
        new_sequencer_key: true,
        ..small(datadir, &wallets)
    };
    let mut bench = Bench::open(retaining(&datadir), clock.clone(), Arc::new(RealDisk)).unwrap();
    for round in 0..12_u64 {
        busy(&mut bench, &mut workload, 1 + round % 3);
        let latest = bench.view().latest().number();
        match round % 4 {
            1 => bench.node.control(|writer| writer.unwind(latest.saturating_sub(round % 5))).unwrap(),
            2 => bench.node.develop(|development| development.reorg(&[Vec::new(), Vec::new()])).unwrap(),
            3 => bench.node.develop(|development| development.write(&balance(round))).unwrap(),
            _ => {}
        }
        bench.node.drain().unwrap();
        copy(&datadir.join("store"), &folder.path().join(format!("store-{round}")));
    }
    let before = fingerprint(&bench.view());
    drop(bench);
    for round in 0..12 {
        let other = folder.path().join(format!("data-{round}"));
        copy(&datadir.join("journal"), &other.join("journal"));
        copy(&folder.path().join(format!("store-{round}")), &other.join("store"));
        fs::copy(datadir.join("genesis.json"), other.join("genesis.json")).unwrap();
        let mut bench = Bench::open(retaining(&other), clock.clone(), Arc::new(RealDisk)).unwrap();
        assert_eq!(fingerprint(&bench.view()), before, "round {round}");
        assert_consistent(&bench);
        bench.seal();
        assert_consistent(&bench);
    }
}
