//! The scrub of followers: one process at a time reads a store.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    sync::Arc,
    time::Duration,
};

use alloy_primitives::{Bytes, TxKind, U256};
use foreseal_chain::{Clock, SystemClock};
use foreseal_journal::RealDisk;
use foreseal_node::{Node, ScrubSettings, Settings, StoreSettings};
use foreseal_replication::Phase;
use foreseal_testkit::{Fees, Wallet, wait_for};
use support::{
    open_node,
    pair::{follow_from, follow_here, serving},
    settings,
};

const PAUSE: Duration = Duration::from_millis(10);
/// Input of the transaction of block 1; nothing else in the store has these bytes.
const INPUT: [u8; 600] = [0xab; 600];

fn scrubbed(settings: Settings, rate: u64) -> Settings {
    let scrub = ScrubSettings { rate, pause: PAUSE };
    Settings { store: StoreSettings { scrub, ..StoreSettings::default() }, ..settings }
}

/// Creates a stopped chain that contains a transaction with [`INPUT`].
fn make(datadir: &Path, wallets: &[Wallet]) {
    let node = open_node(scrubbed(settings(datadir, wallets), 0)).unwrap();
    node.start();
    wait_for("the node is ready", || node.view().is_some());
    let to = TxKind::Call(wallets[1].address);
    let sent = wallets[0].eip1559(0, to, U256::from(1), 500_000, Bytes::from_static(&INPUT), Fees::default());
    node.submit(&sent).unwrap();
    wait_for("two blocks are sealed", || node.view().unwrap().latest().number() >= 2);
    node.drain().unwrap();
    node.stop();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            copy(&path, &target);
        } else if path.is_file() {
            fs::copy(path, target).unwrap();
        }
    }
}

/// Flips a bit in every copy of [`INPUT`] in the store.
fn damage(datadir: &Path) {
    let data = datadir.join("store/data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    let positions: Vec<usize> =
        (0..bytes.len() - INPUT.len()).filter(|at| bytes[*at..*at + INPUT.len()] == INPUT).collect();
    assert!(!positions.is_empty());
    for at in positions {
        bytes[at + 300] ^= 1;
    }
    fs::write(data, bytes).unwrap();
}

fn passes(node: &Node) -> u64 {
    node.status().store.map_or(0, |store| store.scrub.passes)
}

/// Returns a started sequencer with a chain in `datadir`.
fn sequencer(datadir: &Path, wallets: &[Wallet], rate: u64) -> Node {
    let node = open_node(scrubbed(serving(datadir, wallets), rate)).unwrap();
    node.start();
    wait_for("the sequencer is ready", || node.view().is_some());
    node
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}

#[test]
fn a_follower_finds_damage_in_its_own_store() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    make(&first, &wallets);
    copy(&first, &second);
    damage(&second);
    let sequencer = sequencer(&first, &wallets, 1 << 40);
    let own = Settings { datadir: second, ..scrubbed(serving(&first, &wallets), 1 << 40) };
    let follower = follow_from(&own, &first, clock(), Arc::new(RealDisk));
    wait_for("the follower found the damage", || matches!(follower.status().phase, Phase::Failed(_)));
    let status = follower.status();
    let Phase::Failed(reason) = &status.phase else { panic!("{:?}", status.phase) };
    assert!(reason.contains("store is damaged: table transactions, key "), "{reason}");
    let health = status.healthy(follower.tick_limit()).unwrap_err();
    assert!(health.contains("table transactions"), "{health}");
    let store = status.store.unwrap();
    assert!(store.failure.unwrap().contains("table transactions"));
    wait_for("the pass is counted", || passes(&follower) > 0);
    let scrub = follower.status().store.unwrap().scrub;
    assert!(scrub.damaged > 0 && scrub.total > 0 && scrub.last.is_some(), "{scrub:?}");
    // The sequencer has a store of its own.
    wait_for("the sequencer has scrubbed its own", || passes(&sequencer) > 0);
    assert_eq!(sequencer.status().phase, Phase::Producing);
    assert_eq!(sequencer.status().store.unwrap().scrub.damaged, 0);
    follower.stop();
    sequencer.stop();
}

#[test]
fn a_follower_scrubs_the_store_while_the_sequencer_is_away() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let datadir = folder.path().join("chain");
    make(&datadir, &wallets);
    let sequencer = sequencer(&datadir, &wallets, 1 << 40);
    let follower = follow_here(&scrubbed(serving(&datadir, &wallets), 1 << 40), clock());
    wait_for("the follower follows", || follower.status().phase == Phase::Following);
    wait_for("the sequencer scrubs", || passes(&sequencer) > 0);
    let shown = passes(&sequencer);
    wait_for("the follower reports the sequencer's scrub", || passes(&follower) > shown);
    let store = File::open(datadir.join("store")).unwrap();
    assert!(
        matches!(store.try_lock(), Err(TryLockError::WouldBlock)),
        "the sequencer has the store to itself"
    );
    sequencer.stop();
    drop(sequencer);
    wait_for("the sequencer is away", || matches!(follower.status().phase, Phase::Disconnected(_)));
    // The sequencer is gone, so further passes are the follower's.
    let before = passes(&follower);
    wait_for("the follower scrubs", || passes(&follower) != before);
    assert_eq!(follower.status().store.unwrap().failure, None);
    follower.stop();
}
