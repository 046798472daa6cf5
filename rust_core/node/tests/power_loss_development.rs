//! A disk that drops everything that was not synced, under all changes of a development chain.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{path::Path, sync::Arc};

use alloy_primitives::B256;
use foreseal_chain::{Chain, FinalityDepth, SteppedClock, View, replay};
use foreseal_journal::{Disk, Identity, JournalOptions, LocalJournal};
use foreseal_node::{ControlError, Development, Sequencer, Settings};
use foreseal_primitives::Transaction;
use foreseal_simulated_disk::{DiskFault, SimulatedDisk};
use foreseal_testkit::{Fees, Wallet};
use support::{Bench, OTHER_ACCOUNT, balance, fingerprint, settings};

/// Everything that identifies the content of a view.
type Shown = (Vec<(u64, B256, Vec<B256>)>, u64, u64);

fn shown(view: &View) -> Shown {
    (fingerprint(view), view.safe(), view.finalized())
}

fn development(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings { development: Some(Development::default()), ..settings(datadir, wallets) }
}

/// Executes operation number `round` of the script. Returns an error if the disk failed.
fn act(bench: &mut Bench, wallets: &[Wallet], round: u64) -> Result<(), ()> {
    let transfer = |nonce| wallets[0].transfer(nonce, OTHER_ACCOUNT, 7, Fees::default());
    let apply = |bench: &Bench, act: &mut dyn FnMut(&mut Sequencer) -> Result<(), ControlError>| {
        bench.node.control(act).map_err(|error| assert!(matches!(error, ControlError::Failed(_)), "{error}"))
    };
    match round {
        2 => apply(bench, &mut |writer| writer.development().write(&balance(5))),
        3 => apply(bench, &mut |writer| writer.development().mine(2, Some(10))),
        4 => apply(bench, &mut |writer| writer.development().snapshot().map(|_| ())),
        6 => apply(bench, &mut |writer| writer.development().increase_time(100).map(|_| ())),
        7 => apply(bench, &mut |writer| writer.development().set_next_timestamp(2_000_000)),
        9 => apply(bench, &mut |writer| writer.set_finality(Some(2), Some(1))),
        10 => {
            let replacement = Arc::new(
                Transaction::decode(&wallets[1].transfer(0, OTHER_ACCOUNT, 1, Fees::default())).unwrap(),
            );
            apply(bench, &mut |writer| writer.development().reorg(&[vec![replacement.clone()], Vec::new()]))
        }
        12 => apply(bench, &mut |writer| writer.unwind(1)),
        14 => apply(bench, &mut |writer| {
            writer.development().revert(0).map(|done| assert!(!done, "its block is gone"))
        }),
        15 => apply(bench, &mut |writer| writer.development().snapshot().map(|_| ())),
        17 => apply(bench, &mut |writer| writer.development().revert(1).map(|done| assert!(done))),
        18 => apply(bench, &mut |writer| writer.development().set_base_fee(7)),
        _ => {
            // After an unwind, some of them are already pooled or used.
            let _ = bench.node.submit(&transfer(round));
            let _ = bench.node.submit(&transfer(round / 2));
            bench.try_tick().map_err(|_| ())
        }
    }
}

const ROUNDS: u64 = 21;

/// Runs the script until the disk fails; returns the last shown state.
fn run(datadir: &Path, wallets: &[Wallet], clock: &Arc<SteppedClock>, disk: &SimulatedDisk) -> Option<Shown> {
    let mut bench = Bench::open(development(datadir, wallets), clock.clone(), Arc::new(disk.clone())).ok()?;
    for round in 0..ROUNDS {
        if act(&mut bench, wallets, round).is_err() {
            let failed = shown(&bench.view());
            assert!(bench.try_tick().is_err());
            let rejected = bench.node.develop(|development| development.snapshot());
            assert!(matches!(rejected, Err(ControlError::Stopped(_))), "round {round}");
            assert_eq!(shown(&bench.view()), failed, "nothing is shown after a failure");
            break;
        }
    }
    Some(shown(&bench.view()))
}

/// Returns the state of the chain after each append of a run without faults.
fn every_state(datadir: &Path, wallets: &[Wallet], disk: &SimulatedDisk) -> Vec<Shown> {
    let settings = settings(datadir, wallets);
    let spec = Arc::new(foreseal_primitives::ChainSpec::new(settings.genesis.unwrap()).unwrap());
    let mut chain = Chain::new(spec, FinalityDepth::default());
    let identity = Identity { chain_id: chain.spec().chain_id(), genesis: chain.latest().block.hash };
    let options = JournalOptions { identity, segment_bytes: 1 << 20, entropy: [0; 32] };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let (journal, _) = LocalJournal::open(&datadir.join("journal"), disk, options).unwrap();
    let mut states = Vec::new();
    for append in journal.replay().unwrap() {
        for record in append.unwrap().records {
            replay(&mut chain, 0, &record).unwrap();
        }
        states.push(shown(&chain.view().expect("every append leaves a block open")));
    }
    states
}

fn survives(fault: DiskFault, seeds: u64) {
    let wallets = Wallet::some(2);
    let (baseline, datadir) = (SimulatedDisk::default(), tempfile::tempdir().unwrap());
    let last = run(datadir.path(), &wallets, &Arc::default(), &baseline).unwrap();
    let operations = baseline.operations();
    let states = every_state(datadir.path(), &wallets, &baseline);
    assert_eq!(states.last(), Some(&last));
    assert!(states.len() > 15);
    // Reverting to a snapshot leads to an earlier state, so a state may occur several times.
    let positions = |state: &Shown| -> Vec<usize> {
        states.iter().enumerate().filter(|(_, other)| *other == state).map(|(at, _)| at).collect()
    };
    for operation in 0..operations {
        for seed in 0..seeds {
            let context = format!("{fault:?} at operation {operation}, seed {seed}");
            let (disk, datadir) = (SimulatedDisk::default(), tempfile::tempdir().unwrap());
            disk.fail_at(operation, fault);
            let clock = Arc::<SteppedClock>::default();
            let seen = run(datadir.path(), &wallets, &clock, &disk);
            disk.lose_power(seed);
            let bench = Bench::open(development(datadir.path(), &wallets), clock, Arc::new(disk)).unwrap();
            let Some(seen) = seen else { continue };
            let (seen, retained) = (positions(&seen), positions(&shown(&bench.view())));
            assert!(!seen.is_empty(), "{context}: was shown and never appended");
            // An append can be durable before its content is published.
            let follows = seen.iter().any(|at| retained.contains(at) || retained.contains(&(at + 1)));
            assert!(follows, "{context}: {seen:?} was shown, {retained:?} is there");
        }
    }
}

/// Invariant 4: nothing pre-confirmed is lost by a power loss.
#[test]
fn shown_overrides_survive_power_loss_at_any_operation() {
    survives(DiskFault::Crash, 2);
}

#[test]
fn shown_overrides_survive_a_failed_write_or_sync() {
    survives(DiskFault::Broken, 1);
    survives(DiskFault::Full, 1);
}
