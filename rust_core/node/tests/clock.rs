//! A chain that is ahead of the clock: the lead is reported, worked off and limited.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{sync::Arc, time::Duration};

use foreseal_chain::{Clock, SteppedClock};
use foreseal_journal::RealDisk;
use foreseal_node::{Settings, Warning};
use foreseal_replication::{Phase, SubmitError};
use foreseal_testkit::{Fees, Wallet};
use support::{Bench, OTHER_ACCOUNT, fingerprint, settings};

const HOUR: i64 = 3_600_000;

fn timestamp(bench: &Bench) -> u64 {
    bench.view().latest().block.header.timestamp
}

fn lead(bench: &Bench) -> Duration {
    Duration::from_secs(timestamp(bench)).saturating_sub(bench.clock.now().unix)
}

fn limited(datadir: &tempfile::TempDir, wallets: &[Wallet], limit: Duration) -> Settings {
    Settings { max_clock_lead: limit, ..settings(datadir.path(), wallets) }
}

fn open(settings: Settings) -> Bench {
    Bench::open(settings, Arc::new(SteppedClock::default()), Arc::new(RealDisk)).unwrap()
}

/// Seals a block while the clock is `ms` ahead, and corrects the clock.
fn seal_ahead(bench: &mut Bench, ms: i64) {
    bench.seal();
    bench.clock.jump(ms);
    // The block that was open has its timestamp from the right time.
    bench.seal();
    bench.seal();
    bench.clock.jump(-ms);
}

#[test]
fn lead_is_reported_and_worked_off() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut bench = open(limited(&datadir, &wallets, Settings::MAX_CLOCK_LEAD));
    seal_ahead(&mut bench, 30_000);
    bench.tick();
    let before = (timestamp(&bench), lead(&bench));
    assert!(before.1 > Duration::from_secs(25), "{before:?}");
    let status = bench.node.status();
    assert_eq!(status.clock_lead, before.1);
    assert_eq!(status.warnings(), [Warning::AheadOfClock { lead: before.1 }]);
    assert_eq!(status.healthy(bench.node.tick_limit()), Ok(()), "a small lead is no failure");

    let (mut parent, began) = (before.0, bench.clock.now().unix);
    while !lead(&bench).is_zero() {
        bench.seal();
        assert!(timestamp(&bench) > parent, "timestamps grow");
        parent = timestamp(&bench);
    }
    let passed = bench.clock.now().unix.saturating_sub(began);
    assert!(passed > Duration::from_secs(parent - before.0), "by less than the time that passed");
    assert!(passed < before.1 * 3, "{passed:?}");
    bench.tick();
    assert_eq!(bench.node.status().warnings(), []);
    bench.seal();
    assert_eq!(timestamp(&bench), parent + 2, "then blocks have the block time again");
}

#[test]
fn production_pauses_above_the_limit_and_resumes_with_the_clock() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut bench = open(limited(&datadir, &wallets, Settings::MAX_CLOCK_LEAD));
    seal_ahead(&mut bench, HOUR);
    let shown = bench.view();
    for _ in 0..50 {
        bench.tick();
    }
    assert!(Arc::ptr_eq(&shown, &bench.view()), "nothing is sealed, and reads continue");
    let reason = bench.node.status().healthy(bench.node.tick_limit()).unwrap_err();
    assert!(
        reason.contains("ahead of the clock, limit 300 s") && reason.contains("--max-clock-lead"),
        "{reason}"
    );
    let transfer = wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default());
    assert!(matches!(bench.node.submit(&transfer), Err(SubmitError::Stopped(_))));

    bench.clock.jump(HOUR);
    bench.tick();
    assert_eq!(bench.node.status().phase, Phase::Producing);
    bench.node.submit(&transfer).unwrap();
    bench.seal();
    assert_eq!(bench.node.status().healthy(bench.node.tick_limit()), Ok(()));
}

#[test]
fn higher_limit_works_a_long_lead_off_after_a_restart() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut bench = open(limited(&datadir, &wallets, Settings::MAX_CLOCK_LEAD));
    seal_ahead(&mut bench, HOUR);
    let (chain, clock) = (fingerprint(&bench.view()), bench.clock.clone());
    drop(bench);
    let mut bench =
        Bench::open(limited(&datadir, &wallets, Duration::from_hours(2)), clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(fingerprint(&bench.view()), chain, "a replay does not depend on the clock");
    bench.seal();
    let parent = timestamp(&bench);
    bench.seal();
    assert_eq!(timestamp(&bench), parent + 1);
}

#[test]
fn pause_ends_only_below_the_limit() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut bench = open(limited(&datadir, &wallets, Duration::from_secs(20)));
    seal_ahead(&mut bench, HOUR);
    bench.tick();
    assert!(matches!(bench.node.status().phase, Phase::Failed(_)));
    bench.clock.jump(-2 * HOUR);
    bench.tick();
    let reason = bench.node.status().healthy(bench.node.tick_limit()).unwrap_err();
    assert!(reason.contains("limit 20 s"), "{reason}");
    bench.clock.jump(3 * HOUR);
    bench.tick();
    assert_eq!(bench.node.status().phase, Phase::Producing);
}

#[test]
fn development_time_methods_move_the_chain_ahead_without_a_lead() {
    let (_datadir, wallets, mut bench) = support::start();
    let ahead = bench.clock.now().unix.as_secs() + 86_400;
    bench.node.develop(|development| development.set_next_timestamp(ahead)).unwrap();
    bench.node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.seal();
    assert_eq!(timestamp(&bench), ahead);
    bench.seal();
    assert_eq!(timestamp(&bench), ahead + 2);
    assert_eq!(bench.node.develop(|development| development.set_time(5)).unwrap(), 0);
    bench.seal();
    bench.seal();
    let status = bench.node.status();
    assert_eq!(
        (status.phase.clone(), status.clock_lead, status.warnings()),
        (Phase::Producing, Duration::ZERO, Vec::new())
    );
}
