//! A disk that drops everything that was not synced, at every operation between append and publication.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{path::Path, sync::Arc};

use alloy_primitives::B256;
use foreseal_chain::{BlockId, SteppedClock, View};
use foreseal_node::{Node, NodeEnvironment};
use foreseal_replication::SubmitError;
use foreseal_simulated_disk::{DiskFault, SimulatedDisk};
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use support::{Bench, settings};

/// A step that a reader saw: number, index, hash and transactions.
type Seen = (u64, u64, B256, Vec<B256>);

fn see(view: &View, seen: &mut Vec<Seen>) {
    let pending = view.pending();
    let hashes = pending.block.transactions.iter().map(|t| t.hash()).collect();
    let step = (pending.number(), view.pending_index(), pending.block.hash, hashes);
    if seen.last() != Some(&step) {
        seen.push(step);
    }
}

/// Runs until the disk fails or `ticks` are done; returns every step that was shown.
fn run(
    datadir: &Path,
    wallets: &[Wallet],
    clock: &Arc<SteppedClock>,
    disk: &SimulatedDisk,
    ticks: u64,
) -> Vec<Seen> {
    let mut seen = Vec::new();
    let Ok(mut bench) = Bench::open(settings(datadir, wallets), clock.clone(), Arc::new(disk.clone())) else {
        return seen;
    };
    see(&bench.view(), &mut seen);
    let mut workload = Workload::new(wallets.to_vec(), TransactionKinds::Transfers, 5);
    for _ in 0..ticks {
        bench.node.submit(&workload.next_transaction()).unwrap();
        let failed = bench.try_tick().is_err();
        see(&bench.view(), &mut seen);
        if failed {
            // Reads continue, production does not: the view stays the same, however often the node ticks.
            assert!(bench.try_tick().is_err());
            let rejection = bench.node.submit(&workload.next_transaction()).unwrap_err();
            assert!(matches!(rejection, SubmitError::Stopped(_)), "{rejection}");
            let health = bench.node.status().healthy(bench.node.tick_limit());
            assert!(health.unwrap_err().starts_with("production stopped"));
            let shown = seen.len();
            see(&bench.view(), &mut seen);
            assert_eq!(seen.len(), shown, "nothing is shown after a failure");
            break;
        }
    }
    seen
}

/// Asserts that everything in `seen` still exists: same positions, hashes and transactions in the same order.
fn assert_retained(seen: &[Seen], view: &View, context: &str) {
    for (number, index, hash, transactions) in seen {
        let step = view
            .resolve(BlockId::Step { number: *number, index: *index })
            .unwrap_or_else(|error| panic!("{context}: step {number}.{index} is lost: {error}"));
        assert_eq!(step.block.hash, *hash, "{context}: step {number}.{index}");
        let hashes: Vec<_> = step.block.transactions.iter().map(|t| t.hash()).collect();
        assert_eq!(&hashes, transactions, "{context}: step {number}.{index}");
    }
}

fn survives(fault: DiskFault, seeds: u64) {
    let wallets = Wallet::some(3);
    let ticks = 24;
    let baseline = SimulatedDisk::default();
    let datadir = tempfile::tempdir().unwrap();
    let complete = run(datadir.path(), &wallets, &Arc::default(), &baseline, ticks);
    assert!(complete.len() > 20, "the undisturbed run shows steps and seals");
    let mut cut_short = 0;
    for operation in 0..baseline.operations() {
        for seed in 0..seeds {
            let datadir = tempfile::tempdir().unwrap();
            let disk = SimulatedDisk::default();
            disk.fail_at(operation, fault);
            let clock = Arc::<SteppedClock>::default();
            let seen = run(datadir.path(), &wallets, &clock, &disk, ticks);
            cut_short += u64::from(seen.len() < complete.len());
            disk.lose_power(seed);
            let context = format!("{fault:?} at operation {operation}, seed {seed}");
            let settings = settings(datadir.path(), &wallets);
            let mut bench = Bench::open(settings, clock, Arc::new(disk))
                .unwrap_or_else(|error| panic!("{context}: does not start again: {error}"));
            assert_retained(&seen, &bench.view(), &context);
            bench.tick();
            assert_retained(&seen, &bench.view(), &context);
        }
    }
    assert!(cut_short > baseline.operations() / 2, "the faults did interrupt runs");
}

/// Invariant 4: nothing pre-confirmed is lost by a power loss.
#[test]
fn nothing_shown_is_lost_to_power_loss_at_any_operation() {
    survives(DiskFault::Crash, 3);
}

#[test]
fn nothing_shown_is_lost_when_a_write_or_sync_fails() {
    survives(DiskFault::Broken, 2);
}

#[test]
fn nothing_shown_is_lost_when_the_disk_is_full() {
    survives(DiskFault::Full, 1);
    survives(DiskFault::Short, 1);
}

/// Even the very first append may fail. Sealed blocks are still served, with an idle pending block.
#[test]
fn reads_continue_when_the_first_block_cannot_be_opened() {
    let wallets = Wallet::some(1);
    let datadir = tempfile::tempdir().unwrap();
    let open = |disk: &SimulatedDisk, produce: bool| {
        let environment = NodeEnvironment {
            clock: Arc::<SteppedClock>::default(),
            randomness: Box::new(|| B256::repeat_byte(1)),
            secret: Box::new(|| B256::repeat_byte(1)),
            disk: Arc::new(disk.clone()),
        };
        let settings = foreseal_node::Settings { produce, ..settings(datadir.path(), &wallets) };
        Node::open(settings, environment).unwrap()
    };
    let made = SimulatedDisk::default();
    open(&made, false).start_stepped().unwrap();
    // Opening the journal takes some operations; the first failure after them is the append's.
    let shown = (made.operations()..made.operations() + 12).find_map(|operation| {
        let disk = made.fork();
        disk.fail_at(operation, DiskFault::Full);
        let node = open(&disk, true);
        node.start_stepped().err().and_then(|_| node.view())
    });
    let view = shown.expect("reads go on");
    assert_eq!((view.latest().number(), view.pending().number()), (0, 1));
    assert_eq!(view.pending().block.header.mix_hash, B256::ZERO, "the block that failed is not shown");
}
