//! Long commands of development chains: they run in slices, and end with their caller or the node.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use foreseal_node::{ControlError, Mining, MiningOrder};
use foreseal_testkit::Fees;
use support::{Bench, OTHER_ACCOUNT, STEP, fingerprint, restart, start};

fn order(blocks: u64) -> MiningOrder {
    MiningOrder { blocks, ..MiningOrder::default() }
}

fn height(bench: &Bench) -> u64 {
    bench.view().latest().number()
}

#[test]
fn mining_in_slices_makes_the_same_chain() {
    let (_first, _, sliced) = start();
    let (_second, _, whole) = start();
    let order = MiningOrder { interval: Some(7), timestamp: Some(2_000_000), ..order(300) };
    sliced.node.mine(order, &mut || true).unwrap();
    whole
        .node
        .develop(|development| {
            development.set_next_timestamp(2_000_000)?;
            development.mine(300, Some(7))
        })
        .unwrap();
    assert!(fingerprint(&sliced.view()) == fingerprint(&whole.view()));
}

#[test]
fn ticks_between_slices_renew_the_freshness_alone() {
    let (datadir, wallets, bench) = start();
    let Bench { node, clock, mut producer } = bench;
    node.submit(&wallets[0].transfer(1, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    let mut slices = 0;
    node.mine(order(500), &mut || {
        slices += 1;
        // Several block times pass: without the command, each tick would seal a block.
        for _ in 0..30 {
            foreseal_chain::SteppedClock::advance(&clock, STEP);
            let now = foreseal_chain::Clock::now(&*clock);
            producer.tick(now, &mut || true).unwrap();
        }
        assert_eq!(node.age(), std::time::Duration::ZERO);
        true
    })
    .unwrap();
    assert!(slices > 5, "the lock is released between slices: {slices}");
    assert_eq!(node.view().unwrap().latest().number(), 500);
    restart(&datadir, &wallets, Bench { node, clock, producer });
}

#[test]
fn command_ends_with_its_caller_and_what_was_mined_stays() {
    let (datadir, wallets, bench) = start();
    let mut slices = 0;
    let ended = bench.node.mine(order(100_000), &mut || {
        slices += 1;
        slices <= 3
    });
    assert!(matches!(ended, Err(ControlError::Interrupted)), "{ended:?}");
    let mined = height(&bench);
    assert!((1..1_000).contains(&mined), "{mined}");
    let mut bench = restart(&datadir, &wallets, bench);
    bench.seal();
    assert!(height(&bench) > mined, "production continues");
}

#[test]
fn command_ends_before_the_node_stops() {
    let (_datadir, _, bench) = start();
    let mut slices = 0;
    let ended = bench.node.mine(order(100_000), &mut || {
        slices += 1;
        if slices == 3 {
            bench.node.end_commands();
        }
        true
    });
    assert!(matches!(ended, Err(ControlError::Interrupted)), "{ended:?}");
    assert!(matches!(bench.node.mine(order(1), &mut || true), Err(ControlError::Interrupted)));
    assert!(height(&bench) < 1_000);
}

#[test]
fn other_commands_wait_for_the_last_block() {
    let (_datadir, _, bench) = start();
    let (node, started) = (bench.node.clone(), Arc::new(AtomicBool::new(false)));
    let (seen, other) = (started.clone(), node.clone());
    let second = std::thread::spawn(move || {
        while !seen.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        other.mine(order(100), &mut || true).unwrap();
        other.view().unwrap().latest().number()
    });
    let mut heights = Vec::new();
    node.mine(order(1_000), &mut || {
        started.store(true, Ordering::Release);
        heights.push(height(&bench));
        true
    })
    .unwrap();
    assert_eq!(second.join().unwrap(), 1_100);
    assert!(heights.windows(2).all(|pair| pair[1] - pair[0] <= 64), "{heights:?}");
    assert_eq!(height(&bench), 1_100);
}

#[test]
fn submission_during_a_command_is_sealed_at_once() {
    let (_datadir, wallets, bench) = start();
    bench.node.develop(|development| development.set_mining(Mining::Automatic)).unwrap();
    let mut sent = None;
    bench
        .node
        .mine(order(300), &mut || {
            if sent.is_none() && height(&bench) > 0 {
                let transfer = wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default());
                sent = Some(bench.node.submit(&transfer).unwrap());
                let included = bench.view().transaction(&sent.unwrap()).unwrap();
                assert_eq!(included.unwrap().0.number(), height(&bench), "it does not wait for the command");
            }
            true
        })
        .unwrap();
    assert_eq!(height(&bench), 301, "the block of the submission is not one of the command");
}
