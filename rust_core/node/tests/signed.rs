//! What a step is given beside its content: when it was made.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_journal::RealDisk;
use foreseal_node::{Clock, Development, Sequencer, Settings, View};
use foreseal_testkit::{Fees, Kinds, Wallet, Workload};
use foreseal_types::StepSignature;
use support::{Bench, balance, settings, start};

/// Number, index, hash, time and signature of a step.
type Given = (u64, usize, B256, u64, Option<StepSignature>);

/// Of every step that a view knows, oldest first.
fn given(view: &View) -> Vec<Given> {
    let sealed = (0..=view.latest().number()).map(|number| view.sealed(number).unwrap().unwrap());
    let blocks = sealed.chain([view.pending().clone()]);
    let steps = |block: Arc<foreseal_node::Executed>| {
        let number = block.number();
        let given = |(index, step): (usize, &Arc<foreseal_node::Step>)| {
            (number, index, step.hash, step.time, step.signature)
        };
        block.steps.iter().enumerate().map(given).collect::<Vec<_>>()
    };
    blocks.flat_map(steps).collect()
}

fn millis(bench: &Bench) -> u64 {
    u64::try_from(bench.clock.now().unix.as_millis()).unwrap()
}

/// From memory, from the journal's replay, and from the store.
#[test]
fn steps_keep_the_time_at_which_they_were_made() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(3);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets.clone(), Kinds::WithoutBlobs, 3);
    let mut made = vec![millis(&bench)];
    for tick in 0..60 {
        if tick % 3 > 0 {
            bench.node.submit(&workload.next_transaction()).unwrap();
        }
        let before = given(&bench.view()).len();
        bench.tick();
        let new = given(&bench.view()).len() - before;
        made.extend(std::iter::repeat_n(millis(&bench), new));
    }
    let shown = given(&bench.view());
    assert_eq!(shown.iter().map(|step| step.3).collect::<Vec<_>>(), made);
    assert!(shown.len() > 40 && bench.view().latest().number() > 3);

    let clock = bench.clock.clone();
    drop(bench);
    let bench = Bench::open(settings(datadir.path(), &wallets), clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(given(&bench.view()), shown);
}

/// A chain that goes back to a snapshot shows the steps that it had then, and they are not made anew.
#[test]
fn a_step_that_comes_back_is_the_one_that_was_made() {
    let (datadir, wallets, mut bench) = start();
    bench.node.submit(&wallets[0].transfer(0, wallets[1].address, 1, Fees::default())).unwrap();
    bench.tick();
    let (then, snapshot) = (given(&bench.view()), bench.node.control(Sequencer::snapshot).unwrap());
    bench.node.control(|writer| writer.write(&balance(5))).unwrap();
    bench.tick();
    assert!(bench.node.control(|writer| writer.revert(snapshot)).unwrap());
    assert_eq!(given(&bench.view()), then);

    let clock = bench.clock.clone();
    drop(bench);
    let settings =
        Settings { development: Some(Development::default()), ..settings(datadir.path(), &wallets) };
    let bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(given(&bench.view()), then);
}
