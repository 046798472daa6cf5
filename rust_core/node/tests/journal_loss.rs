//! A journal that has lost visible data: the node does not start or stops, and only a repair continues.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{fs, path::Path, sync::Arc};

use foreseal_chain::SteppedClock;
use foreseal_journal::{Identity, JournalError, JournalOptions, LocalJournal, RealDisk};
use foreseal_node::{JournalRepair, NodeError, ProductionError, Settings, StartError, StoreSettings};
use foreseal_replication::Phase;
use foreseal_testkit::{Fees, Wallet, wait_for};
use support::{
    Bench,
    damage::{SEGMENT, zero_journal_tail},
    fingerprint,
    pair::{caught_up, follow_here, serving},
    settings,
};

fn busy(bench: &mut Bench, wallets: &[Wallet], blocks: u64) {
    for _ in 0..blocks {
        let nonce = bench.view().pending().number() - 1;
        bench.node.submit(&wallets[0].transfer(nonce, wallets[1].address, 1, Fees::default())).unwrap();
        bench.tick();
        bench.seal();
    }
}

fn lost(settings: &Settings, clock: &Arc<SteppedClock>) -> String {
    let rejection = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).err().expect("refused");
    assert!(matches!(rejection, NodeError::Start(StartError::Lost { .. })), "{rejection}");
    rejection.to_string()
}

/// The journal loses its tail after a clean stop, while the store is retained.
#[test]
fn a_zeroed_tail_is_rejected_and_the_loss_is_exact() {
    for without_mark in [false, true] {
        let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
        let datadir = folder.path();
        let settings = settings(datadir, &wallets);
        let clock = Arc::<SteppedClock>::default();
        let mut bench = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
        busy(&mut bench, &wallets, 10);
        bench.node.save().unwrap();
        let before = fingerprint(&bench.view());
        drop(bench);
        let content = fs::read(datadir.join(SEGMENT)).unwrap();
        zero_journal_tail(datadir);
        if without_mark {
            // Now the store alone proves the loss.
            fs::remove_file(datadir.join("journal.end")).unwrap();
        }
        let first = lost(&settings, &clock);
        assert_eq!(lost(&settings, &clock), first, "a refused start changes nothing");
        assert!(first.contains("only `foreseal journal repair` continues"), "{first}");

        let repair = JournalRepair::plan(datadir).unwrap();
        let chain = repair.chain().unwrap().clone();
        let (from, to) = chain.blocks.unwrap();
        assert_eq!((to, chain.back_to), (10, Some(from - 1)));
        assert_eq!(chain.transactions, to - from + 1, "one a block");
        assert!(chain.steps >= 2 * chain.transactions);
        assert_eq!(chain.tip.is_some(), !without_mark);
        assert!(first.contains(&chain.to_string()), "{first}\n{chain}");
        drop(repair);
        assert_eq!(lost(&settings, &clock), first, "a plan changes nothing");

        // With the original journal the node starts as before.
        let damaged = fs::read(datadir.join(SEGMENT)).unwrap();
        fs::write(datadir.join(SEGMENT), content).unwrap();
        let bench = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
        assert_eq!(fingerprint(&bench.view()), before);
        drop(bench);
        fs::write(datadir.join(SEGMENT), damaged).unwrap();
        lost(&settings, &clock);

        JournalRepair::plan(datadir).unwrap().apply().unwrap();
        let mut bench = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
        let after = fingerprint(&bench.view());
        assert_eq!(bench.view().latest().number(), from - 1);
        assert!(after.iter().all(|step| before.contains(step)), "what is left is what was");
        bench.seal();
        drop(bench);
        Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    }
}

#[test]
fn a_journal_that_another_writer_opened_is_not_written() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let datadir = folder.path();
    let clock = Arc::<SteppedClock>::default();
    let mut bench = Bench::open(settings(datadir, &wallets), clock.clone(), Arc::new(RealDisk)).unwrap();
    busy(&mut bench, &wallets, 1);
    let before = bench.view().cursor();
    // Simulates a second writer that the lock did not keep out.
    let genesis = bench.node.store().options().genesis;
    let identity = Identity { chain_id: bench.node.spec().chain_id(), genesis };
    let options = JournalOptions::new(identity, [9; 32]);
    let _second = LocalJournal::open(&datadir.join("journal"), Arc::new(RealDisk), options).unwrap();
    bench.node.submit(&wallets[0].transfer(1, wallets[1].address, 1, Fees::default())).unwrap();
    let error = bench.try_tick().unwrap_err();
    assert!(matches!(error, ProductionError::Journal(JournalError::Fenced { .. })), "{error}");
    assert_eq!(bench.view().cursor(), before, "nothing is shown");
    let health = bench.node.status().healthy(bench.node.tick_limit()).unwrap_err();
    assert!(health.contains("fenced by another writer with epoch 2"), "{health}");
    assert!(bench.try_tick().is_err());
}

/// All files are restored to an older state; only a running follower has seen more.
#[test]
fn a_follower_ahead_of_the_sequencer_stops_production() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let (datadir, aside) = (folder.path().join("data"), folder.path().join("aside"));
    let store = StoreSettings { map_size: 64 << 20, ..StoreSettings::default() };
    let settings = Settings { store, ..serving(&datadir, &wallets) };
    let clock = Arc::<SteppedClock>::default();
    let open = || Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    let mut sequencer = open();
    busy(&mut sequencer, &wallets, 2);
    drop(sequencer);
    copy(&datadir.join("journal"), &aside);
    fs::copy(datadir.join("journal.end"), folder.path().join("end")).unwrap();
    let mut sequencer = open();
    let follower = follow_here(&settings, clock.clone());
    caught_up(&sequencer.node, &follower);
    // Steps that the store does not have.
    for nonce in 2..4 {
        sequencer.node.submit(&wallets[0].transfer(nonce, wallets[1].address, 1, Fees::default())).unwrap();
        sequencer.tick();
    }
    let shown = fingerprint(&caught_up(&sequencer.node, &follower));
    drop(sequencer);
    wait_for("it notices", || matches!(follower.status().phase, Phase::Disconnected(_)));
    fs::remove_dir_all(datadir.join("journal")).unwrap();
    copy(&aside, &datadir.join("journal"));
    fs::copy(folder.path().join("end"), datadir.join("journal.end")).unwrap();

    let mut sequencer = open();
    let node = sequencer.node.clone();
    let failed = || node.status().healthy(node.tick_limit()).err();
    wait_for("the follower proves it", || failed().is_some());
    let health = failed().unwrap();
    assert!(health.contains("has seen append"), "{health}");
    assert!(sequencer.try_tick().is_err());
    // The follower starts over from the sequencer's store; a view that a reader still holds stays valid.
    assert!(!shown.is_empty());
    drop((sequencer, node));
    let rejection =
        Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).err().unwrap().to_string();
    assert!(
        rejection.contains("has seen append") && rejection.contains("foreseal journal repair"),
        "{rejection}"
    );

    // Once the loss is accepted, production continues.
    let repair = JournalRepair::plan(&datadir).unwrap();
    assert!(repair.loss().is_some(), "what the follower has seen is recorded");
    assert_eq!(repair.chain().unwrap().appends, 2);
    repair.apply().unwrap();
    assert!(JournalRepair::plan(&datadir).unwrap().loss().is_none());
    let sequencer = open();
    caught_up(&sequencer.node, &follower);
    assert!(sequencer.node.status().healthy(sequencer.node.tick_limit()).is_ok());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Creates a chain in many small segments, completely stored, and flips a bit in one segment.
fn damaged_in(folder: &Path, wallets: &[Wallet], segment: u64) -> (Settings, Arc<SteppedClock>, u64) {
    let settings = Settings { segment_bytes: 4096, ..settings(folder, wallets) };
    let clock = Arc::<SteppedClock>::default();
    let mut bench = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    busy(&mut bench, wallets, 10);
    bench.node.drain().unwrap();
    let head = bench.view().latest().number();
    drop(bench);
    let path = folder.join(format!("journal/{segment:010}.segment"));
    let mut bytes = fs::read(&path).unwrap();
    bytes[600] ^= 1;
    fs::write(path, bytes).unwrap();
    (settings, clock, head)
}

#[test]
fn damaged_segments_already_in_the_store_are_removed() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let datadir = folder.path();
    let (settings, clock, head) = damaged_in(datadir, &wallets, 1);
    assert!(Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).is_err());
    let repair = JournalRepair::plan(datadir).unwrap();
    assert!(repair.loss().unwrap().in_store);
    assert_eq!((repair.loss().unwrap().segments.clone(), repair.chain()), (vec![1], None));
    repair.apply().unwrap();
    assert!(!datadir.join(SEGMENT).exists());
    let bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(bench.view().latest().number(), head);
}

#[test]
fn a_repair_that_leaves_no_starting_point_is_rejected() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let datadir = folder.path();
    let (settings, clock) = (settings(datadir, &wallets), Arc::<SteppedClock>::default());
    let mut bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    busy(&mut bench, &wallets, 3);
    bench.node.drain().unwrap();
    drop(bench);
    // The first append of the only segment.
    let mut bytes = fs::read(datadir.join(SEGMENT)).unwrap();
    bytes[600] ^= 1;
    fs::write(datadir.join(SEGMENT), &bytes).unwrap();
    let rejection = JournalRepair::plan(datadir).err().unwrap().to_string();
    assert!(rejection.contains("could not start") && rejection.contains("restore a backup"), "{rejection}");
    assert_eq!(fs::read(datadir.join(SEGMENT)).unwrap(), bytes);
}
