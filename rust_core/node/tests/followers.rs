//! A follower shows the same as its sequencer.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use foreseal_chain::{Change, SteppedClock, changes, datadir::DataDirError};
use foreseal_journal::RealDisk;
use foreseal_node::{Development, Node, NodeError, Role, Settings, StoreSettings};
use foreseal_replication::Phase;
use foreseal_simulated_disk::{DiskFault, SimulatedDisk};
use foreseal_testkit::{TransactionKinds, Wallet, Workload, wait_for};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use support::{
    Bench,
    actions::{Act, Run, act, shown},
    fingerprint,
    pair::{caught_up, follow, follow_here, serving},
};

fn pooled(node: &Node) -> Vec<alloy_primitives::B256> {
    node.pool().all().iter().map(|transaction| transaction.hash()).collect()
}

#[test]
fn a_follower_continues_after_it_or_the_sequencer_restarts() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(4));
    let settings = serving(datadir.path(), &wallets);
    let clock = Arc::<SteppedClock>::default();
    let open = || Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    let mut sequencer = open();
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    let mut follower = follow_here(&settings, clock.clone());
    for round in 0..40 {
        for _ in 0..round % 5 {
            sequencer.node.submit(&workload.next_transaction()).unwrap();
        }
        sequencer.tick();
        for _ in 0..round % 3 {
            sequencer.node.submit(&workload.next_transaction()).unwrap();
        }
        let view = caught_up(&sequencer.node, &follower);
        assert_eq!(fingerprint(&view), fingerprint(&sequencer.view()));
        wait_for("its pool is the same", || pooled(&follower) == pooled(&sequencer.node));
        assert_eq!(follower.pool().counts(), sequencer.node.pool().counts());
        match round {
            9 | 25 => {
                follower.stop();
                assert_eq!(follower.status().phase, Phase::Stopped);
                follower = follow_here(&settings, clock.clone());
            }
            15 | 30 => {
                // Ends without a clean stop: transactions that were only in the pool are lost on both sides.
                drop(sequencer);
                let is_disconnected = || matches!(follower.status().phase, Phase::Disconnected(_));
                wait_for("it notices", is_disconnected);
                assert_eq!(fingerprint(&follower.view().unwrap()), fingerprint(&view), "reads go on");
                sequencer = open();
            }
            _ => {}
        }
    }
    let status = follower.status();
    let following = status.following.unwrap();
    assert_eq!((following.lag, following.chain_loads), (0, 1), "it went on by its cursor");
    assert_eq!((status.produces, status.signer), (true, sequencer.node.status().signer));
    assert!(follower.catching_up().is_none());
    wait_for("the sequencer knows of it", || {
        let followers = sequencer.node.followers();
        followers.len() == 1 && followers[0].name == "one" && followers[0].lag == 0
    });
    follower.report(b"metrics".to_vec());
    wait_for("its metrics arrive", || sequencer.node.followers()[0].report.as_ref() == b"metrics");
}

#[test]
fn a_follower_has_the_age_of_its_last_tick() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let settings = serving(datadir.path(), &wallets);
    let clock = Arc::<SteppedClock>::default();
    let mut sequencer = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    let follower = follow_here(&settings, clock.clone());
    caught_up(&sequencer.node, &follower);
    sequencer.tick();
    wait_for("the tick is heard of", || follower.age() == Duration::ZERO);
    clock.advance(Duration::from_secs(4));
    // A heartbeat from before the advance may still arrive; the next one corrects it.
    wait_for("its age", || follower.age() == Duration::from_secs(4));
    assert_eq!(follower.status().ready(follower.tick_limit()), Ok(()));
    clock.advance(Duration::from_secs(2));
    wait_for("its age", || follower.age() == Duration::from_secs(6));
    let late = follower.status().healthy(follower.tick_limit()).unwrap_err();
    assert!(late.starts_with("last tick 6000 ms ago"), "{late}");
    drop(sequencer);
    wait_for("it notices", || matches!(follower.status().phase, Phase::Disconnected(_)));
    let late = follower.status().ready(follower.tick_limit()).unwrap_err();
    assert!(late.contains("the sequencer is not reachable"), "{late}");
    // A follower that starts now gets the age of the tick, although its own clock started later.
    let mut settings = settings;
    settings.produce = true;
    let sequencer = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    clock.advance(Duration::from_secs(30));
    let late = follow_here(&settings, Arc::<SteppedClock>::default());
    caught_up(&sequencer.node, &late);
    wait_for("it hears how old the last tick is", || late.age() >= Duration::from_secs(30));
}

#[test]
fn a_read_only_node_can_be_followed() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let settings = serving(datadir.path(), &wallets);
    let clock = Arc::<SteppedClock>::default();
    drop(
        Bench::open(Settings { produce: true, ..settings.clone() }, clock.clone(), Arc::new(RealDisk))
            .unwrap(),
    );
    let settings = Settings { produce: false, ..settings };
    let sequencer = support::open_node(settings.clone()).unwrap();
    sequencer.start_stepped().unwrap();
    let follower = follow_here(&settings, clock.clone());
    let view = caught_up(&sequencer, &follower);
    assert_eq!(view.pending().block.hash, sequencer.view().unwrap().pending().block.hash);
    assert!(!follower.status().produces);
    follower.status().ready(follower.tick_limit()).unwrap();
}

#[test]
fn a_follower_that_cannot_follow_reports_the_reason() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let settings = serving(datadir.path(), &wallets);
    let role = Role::Worker { feed: datadir.path().join("feed.sock"), name: String::new() };
    let follower = Settings { role, ..settings.clone() };
    let error = support::open_node(follower.clone()).err().unwrap();
    assert!(matches!(error, NodeError::DataDir(DataDirError::NoGenesis { .. })), "{error}");
    drop(Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap());
    let other =
        Settings { genesis: Some(foreseal_testkit::test_genesis(&Wallet::some(2))), ..follower.clone() };
    let error = support::open_node(other).err().unwrap();
    assert!(matches!(error, NodeError::DataDir(DataDirError::OtherGenesis { .. })), "{error}");
    // No sequencer is running: the follower waits, reports it, and can be stopped.
    let node = support::open_node(follower).unwrap();
    node.start();
    wait_for("it says so", || matches!(node.status().phase, Phase::Disconnected(_)));
    let reason = node.status().ready(node.tick_limit()).unwrap_err();
    assert!(reason.starts_with("the sequencer is not reachable"), "{reason}");
    assert!(node.control(|_| Ok(())).unwrap_err().to_string().contains("this process follows it"));
    node.stop();
    assert_eq!(node.status().phase, Phase::Stopped);
}

/// The journal continued without the follower and no longer has its cursor.
#[test]
fn a_follower_with_an_expired_cursor_restarts_from_the_store() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let store = StoreSettings { retention: 0, ..StoreSettings::default() };
    let development = Some(Development::default());
    let settings =
        Settings { segment_bytes: 1 << 14, store, development, ..serving(datadir.path(), &wallets) };
    let clock = Arc::<SteppedClock>::default();
    let open = |role: Role| {
        let settings = Settings { role, ..settings.clone() };
        Bench::open(settings, clock.clone(), Arc::new(RealDisk)).unwrap()
    };
    let mut sequencer = open(settings.role.clone());
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::Transfers, 5);
    let follower = follow_here(&settings, clock.clone());
    sequencer.node.submit(&workload.next_transaction()).unwrap();
    sequencer.tick();
    let before = caught_up(&sequencer.node, &follower);
    let seen = (before.cursor(), fingerprint(&before));
    drop(sequencer);
    let mut alone = open(Role::Sequencer { feed: None });
    alone.node.develop(|development| development.mine(80, None)).unwrap();
    alone.node.drain().unwrap();
    // The next append removes the journal segments that the store has passed.
    alone.seal();
    drop(alone);
    let mut sequencer = open(settings.role.clone());
    let view = caught_up(&sequencer.node, &follower);
    assert_eq!(follower.status().following.unwrap().chain_loads, 2);
    assert_eq!(fingerprint(&view), fingerprint(&sequencer.view()));
    assert_eq!(fingerprint(&before), seen.1, "what was shown stays what it was");
    let mut steps = 0;
    let count = &mut |change: Change, _| {
        steps += u64::from(matches!(change, Change::Step(_)));
        ControlFlow::Continue(())
    };
    assert_eq!(changes(&view, seen.0, count).unwrap(), view.cursor(), "who was there goes on from there");
    assert!(steps > 80);
    sequencer.node.submit(&workload.next_transaction()).unwrap();
    sequencer.tick();
    caught_up(&sequencer.node, &follower);
}

/// After a power loss the sequencer has everything that a follower showed, at whichever operation the disk
/// failed.
#[test]
fn steps_shown_by_a_follower_are_never_lost() {
    let wallets = Wallet::some(2);
    let run = |disk: &SimulatedDisk, fails: Option<u64>| {
        let datadir = tempfile::tempdir().unwrap();
        let settings = serving(datadir.path(), &wallets);
        let clock = Arc::<SteppedClock>::default();
        let mut sequencer = Bench::open(settings.clone(), clock.clone(), Arc::new(disk.clone())).unwrap();
        let begun = disk.operations();
        let follower = follow(&settings, clock.clone(), Arc::new(disk.clone()));
        caught_up(&sequencer.node, &follower);
        if let Some(operation) = fails {
            disk.fail_at(begun + operation, DiskFault::Crash);
        }
        let mut workload = Workload::new(wallets.clone(), TransactionKinds::Transfers, 5);
        let ticks = (0..14).take_while(|_| {
            sequencer.node.submit(&workload.next_transaction()).unwrap();
            sequencer.try_tick().is_ok()
        });
        let done = ticks.count();
        // Everything that was sent is applied by now: the end message of the connection comes last.
        drop(sequencer);
        wait_for("it notices", || matches!(follower.status().phase, Phase::Disconnected(_)));
        let shown = fingerprint(&follower.view().unwrap());
        follower.stop();
        drop(follower);
        disk.lose_power(done as u64);
        let sequencer = Bench::open(settings, clock, Arc::new(disk.clone())).unwrap();
        let retained = fingerprint(&sequencer.view());
        assert!(shown.iter().all(|step| retained.contains(step)), "at operation {fails:?}");
        (done, disk.operations() - begun)
    };
    let (ticks, operations) = run(&SimulatedDisk::default(), None);
    assert_eq!(ticks, 14);
    let cut = (0..operations).filter(|operation| run(&SimulatedDisk::default(), Some(*operation)).0 < 14);
    assert!(cut.count() > 10);
}

/// Applies all changes of a development chain in random order, with restarts of both sides. After every
/// change the follower shows the same blocks and steps as the sequencer.
fn follows(cases: u32, acts: usize) {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRunner::deterministic().new_rng());
    for case in 0..cases {
        let acts: Vec<(Act, u8)> =
            prop::collection::vec((act(), 0..12_u8), acts).new_tree(&mut runner).unwrap().current();
        let datadir = tempfile::tempdir().unwrap();
        let mut run = Run::serving(datadir.path(), case % 2 == 0);
        let (settings, disk, clock): (_, SimulatedDisk, _) =
            (run.settings.clone(), run.disk.clone(), run.clock());
        let start = || follow(&settings, clock.clone(), Arc::new(disk.clone()));
        let mut follower = Some(start());
        for (index, (act, chance)) in acts.iter().enumerate() {
            match chance {
                0 => follower = None,
                1 => follower = Some(start()),
                _ => {}
            }
            run.act(act);
            if let Some(follower) = &follower {
                let sequencer = &run.bench().node;
                let view = caught_up(sequencer, follower);
                assert_eq!(
                    shown(&view),
                    shown(&sequencer.view().unwrap()),
                    "case {case}, act {index}: {act:?}"
                );
                wait_for("its pool is the same", || pooled(follower) == pooled(sequencer));
            }
        }
    }
}

/// `make followers` runs more cases.
#[test]
fn a_follower_equals_its_sequencer_after_random_changes() {
    let cases = std::env::var("FORESEAL_FOLLOWED").ok().and_then(|cases| cases.parse().ok());
    follows(cases.unwrap_or(16), 60);
}
