//! Safety of a store repair: proofs in the damaged store are not discarded, and an interrupted repair loses
//! nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{fs, ops::ControlFlow, path::Path, sync::Arc};

use alloy_primitives::Bytes;
use foreseal_chain::SteppedClock;
use foreseal_journal::RealDisk;
use foreseal_node::{
    JournalRepair, RepairMethod, RepairPlan, RepairProgress, RepairSources, Settings, StoreRepair,
    StoreRepairError, StoreSettings,
};
use foreseal_store::Store;
use foreseal_testkit::{Fees, Wallet, wait_for};
use support::{
    Bench,
    damage::{SEGMENT, zero_journal_tail},
    settings,
};

/// Creates a stopped chain of ten blocks; returns its first transaction.
fn chain(settings: &Settings, wallets: &[Wallet], clock: &Arc<SteppedClock>) -> Bytes {
    let mut bench = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    let transfer = |nonce| wallets[0].transfer(nonce, wallets[1].address, 1, Fees::default());
    for nonce in 0..10 {
        bench.node.submit(&transfer(nonce)).unwrap();
        bench.tick();
        bench.seal();
    }
    bench.node.save().unwrap();
    transfer(0)
}

/// Flips a bit in every copy of this transaction in the store.
fn damage(datadir: &Path, transaction: &[u8]) {
    let data = datadir.join("store/data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    let signature = &transaction[transaction.len() - 40..];
    let positions: Vec<_> = (0..bytes.len() - 40).filter(|at| bytes[*at..].starts_with(signature)).collect();
    assert!(!positions.is_empty());
    for at in positions {
        bytes[at] ^= 1;
    }
    fs::write(data, bytes).unwrap();
}

fn plan(datadir: &Path) -> RepairPlan {
    let mut repair = StoreRepair::lock(datadir, &StoreSettings::default(), RepairSources::default()).unwrap();
    repair.plan(&mut |_| ControlFlow::Continue(())).unwrap()
}

fn apply(datadir: &Path, store: &StoreSettings) -> Result<(), StoreRepairError> {
    let mut repair = StoreRepair::lock(datadir, store, RepairSources::default())?;
    let method = repair.plan(&mut |_| ControlFlow::Continue(()))?.method;
    repair.apply(&method, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_store_that_proves_a_loss_is_not_replaced() {
    for without_end in [false, true] {
        let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
        let (datadir, clock) = (folder.path(), Arc::<SteppedClock>::default());
        let settings = settings(datadir, &wallets);
        let transaction = chain(&settings, &wallets, &clock);
        damage(datadir, &transaction);
        zero_journal_tail(datadir);
        if without_end {
            // Now the store alone proves the loss.
            fs::remove_file(datadir.join("journal.end")).unwrap();
        }
        let repair_plan = plan(datadir);
        let RepairMethod::Impossible(why) = repair_plan.method else { panic!("{:?}", repair_plan.method) };
        assert!(why.contains("foreseal journal repair"), "{why}");
        assert!(apply(datadir, &settings.store).is_err());
        assert!(!datadir.join("store.damaged").exists());

        let repair = JournalRepair::plan(datadir).unwrap();
        assert!(repair.chain().is_some(), "a damaged store still proves the loss");
        repair.apply().unwrap();
        assert_eq!(plan(datadir).method, RepairMethod::Replay);
        apply(datadir, &settings.store).unwrap();
        Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    }
}

#[test]
fn a_plan_warns_when_the_stores_progress_cannot_be_read() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let (datadir, clock) = (folder.path(), Arc::<SteppedClock>::default());
    let transaction = chain(&settings(datadir, &wallets), &wallets, &clock);
    let path = datadir.join("store/data.mdb");
    let content = fs::read(&path).unwrap();
    damage(datadir, &transaction);
    assert_eq!(plan(datadir).warning, None);
    fs::write(&path, [&[0; 4 * 4096], &content[4 * 4096..]].concat()).unwrap();
    let repair_plan = plan(datadir);
    assert_eq!(repair_plan.method, RepairMethod::Replay);
    assert!(repair_plan.warning.unwrap().contains("cannot be read"));
}

#[test]
fn an_interrupted_replay_leaves_the_journal_complete() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let (datadir, clock) = (folder.path(), Arc::<SteppedClock>::default());
    let settings = Settings { segment_bytes: 4096, ..settings(datadir, &wallets) };
    let transaction = chain(&settings, &wallets, &clock);
    let options = {
        let bench = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
        *bench.node.store().options()
    };
    damage(datadir, &transaction);
    let damaged = fs::read(datadir.join("store/data.mdb")).unwrap();
    assert!(datadir.join("journal/0000000003.segment").exists());

    let store = StoreSettings { retention: 1, ..settings.store };
    // The first run counts the records. In the second run the store has all blocks at the last record, so the
    // node could remove segments.
    let mut last = None;
    for _ in 0..2 {
        let mut repair = StoreRepair::lock(datadir, &store, RepairSources::default()).unwrap();
        let (mut seen, all) = (0, last);
        let shared = || Store::open(datadir.join("store"), options).unwrap();
        let head = || shared().head().unwrap().map_or(0, |head| head.number);
        let ended = repair.apply(&RepairMethod::Replay, &mut |step| {
            let RepairProgress::Replaying { records } = step else { return ControlFlow::Continue(()) };
            seen = records;
            if all == Some(records) {
                wait_for("the store has the blocks", || head() >= 9);
            }
            ControlFlow::Break(())
        });
        assert!(ended.is_err());
        last = Some(seen);
    }
    assert_eq!(fs::read(datadir.join("store/data.mdb")).unwrap(), damaged);
    assert!(datadir.join(SEGMENT).exists());
    assert_eq!(plan(datadir).method, RepairMethod::Replay);
    apply(datadir, &store).unwrap();
    assert!(datadir.join(SEGMENT).exists());
    let bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(bench.view().latest().number(), 10);
}

/// The folders are as after a kill between the two renames, optionally followed by a start.
#[test]
fn a_repair_killed_between_two_stores_is_rolled_back() {
    for started_since in [false, true] {
        let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
        let (datadir, clock) = (folder.path(), Arc::<SteppedClock>::default());
        let settings = settings(datadir, &wallets);
        let transaction = chain(&settings, &wallets, &clock);
        damage(datadir, &transaction);
        let (store, damaged) = (datadir.join("store"), datadir.join("store.damaged"));
        fs::create_dir(datadir.join("store.repaired")).unwrap();
        fs::rename(&store, &damaged).unwrap();
        let bytes = fs::read(damaged.join("data.mdb")).unwrap();
        if started_since {
            fs::create_dir(&store).unwrap();
        }
        assert_eq!(plan(datadir).method, RepairMethod::Replay);
        assert_eq!(fs::read(store.join("data.mdb")).unwrap(), bytes);
        apply(datadir, &settings.store).unwrap();
        assert_eq!(fs::read(damaged.join("data.mdb")).unwrap(), bytes);
        assert!(!datadir.join("store.repaired").exists());
        let unfinished = StoreRepair::lock(datadir, &settings.store, RepairSources::default()).err().unwrap();
        assert!(matches!(unfinished, StoreRepairError::Unfinished(_)), "{unfinished}");
    }
}

#[test]
fn one_damaged_meta_page_is_replaced_by_the_other() {
    // Offsets of the magic number and of a root.
    for (page, at) in [(0, 16), (1, 16), (0, 100), (1, 100)] {
        let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
        let (datadir, clock) = (folder.path(), Arc::<SteppedClock>::default());
        let settings = settings(datadir, &wallets);
        chain(&settings, &wallets, &clock);
        let data = datadir.join("store/data.mdb");
        let mut bytes = fs::read(&data).unwrap();
        bytes[page * 4096 + at] ^= 4;
        fs::write(&data, &bytes).unwrap();
        assert!(Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).is_err());
        let repair_plan = plan(datadir);
        assert_eq!((repair_plan.method, repair_plan.fault_count), (RepairMethod::MetaPage, 1));
        let location = format!("data.mdb at offset {}", page * 4096);
        assert!(repair_plan.faults[0].why.contains(&location), "{}", repair_plan.faults[0].why);
        apply(datadir, &settings.store).unwrap();
        assert_eq!(fs::read(datadir.join("store.damaged/data.mdb")).unwrap(), bytes);
        let bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
        assert_eq!(bench.view().latest().number(), 10);
    }
}
