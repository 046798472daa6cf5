//! Crash tests: the power fails, or the process is killed, while the store is written. Afterwards the store
//! holds the complete result of one of the writes, and no write that returned is lost.
//!
//! `FORESEAL_CRASHES` sets the number of crashes (the default takes seconds).

#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod disk;
mod killed_writer;
mod script;
#[path = "../store/support/mod.rs"]
#[allow(dead_code, reason = "this binary uses a part of it")]
mod support;

use std::{
    fs,
    io::{BufRead, BufReader},
    ops::ControlFlow,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use foreseal_store::{Store, StoreError};
use rand::{Rng, SeedableRng, rngs::StdRng};
use script::Script;
use support::process::{process_folder, test_process};
use tempfile::tempdir;

fn crashes(default: usize) -> usize {
    std::env::var("FORESEAL_CRASHES").map_or(default, |number| number.parse().expect("a number of crashes"))
}

/// Asserts that the store is clean and holds exactly the result of
/// `least` to `most` writes. Returns their number.
fn assert_prefix(folder: &Path, script: &Script, least: usize, most: usize) -> usize {
    let store = Store::open(folder, script.options).unwrap();
    let verified = store.verify(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(verified.faults, vec![]);
    let done = script::done(&store);
    drop(store);
    assert!((least..=most).contains(&done), "{done} writes, of {least} that returned and {most} begun");
    script.assert_holds(folder, done);
    done
}

/// Simulates a disk on which unsynced data may be present or not, sector by sector.
#[test]
fn power_loss_preserves_the_committed_blocks() {
    let mut random = StdRng::seed_from_u64(1);
    let (mut lost, mut retained) = (0, 0);
    let rounds = 4;
    for seed in 0..rounds {
        let script = Script::new(seed, 8);
        let folder = tempdir().unwrap();
        let mut store = Store::open(folder.path(), script.options).unwrap();
        disk::record(&folder.path().join("data.mdb"));
        for write in 0..script.len() {
            script.run(&store, write);
            disk::mark();
            if write % 5 == 4 {
                drop(store);
                store = Store::open(folder.path(), script.options).unwrap();
            }
        }
        let recording = disk::stop();
        drop(store);
        assert!(recording.syncs() >= script.len(), "every write is synced");
        for _ in 0..crashes(60) / usize::try_from(rounds).unwrap() {
            let at = random.random_range(0..=recording.len());
            // Sometimes all unsynced data is present, or none.
            let share = [0.0, 0.5, 0.9, 1.0][random.random_range(0..4)];
            let image = recording.crash(at, |_| random.random_bool(share));
            let after = tempdir().unwrap();
            fs::write(after.path().join("data.mdb"), image).unwrap();
            let returned = recording.marks(at);
            let done = assert_prefix(after.path(), &script, returned, returned + 1);
            if done > returned { retained += 1 } else { lost += 1 }
        }
    }
    assert!(lost > 0 && retained > 0, "{lost} writes under way were lost, {retained} were not");
}

/// Nothing is promised before the store is created: it is created again, or rejected with a clear error.
#[test]
fn power_loss_during_creation_leaves_a_usable_store() {
    let script = Script::new(9, 1);
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("data.mdb"), []).unwrap();
    disk::record(&folder.path().join("data.mdb"));
    drop(Store::open(folder.path(), script.options).unwrap());
    let recording = disk::stop();
    let mut random = StdRng::seed_from_u64(2);
    let mut made = 0;
    for at in 0..=recording.len() {
        for share in [0.0, 0.5, 1.0] {
            let image = recording.crash(at, |_| random.random_bool(share));
            let after = tempdir().unwrap();
            fs::write(after.path().join("data.mdb"), image).unwrap();
            match Store::open(after.path(), script.options) {
                Ok(store) => {
                    assert_eq!(store.head().unwrap(), None);
                    script.run(&store, 0);
                    made += 1;
                }
                Err(StoreError::NotAStore { .. } | StoreError::Truncated { .. }) => {
                    assert!(recording.syncs_before(at) == 0, "refused although a sync had returned");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(made > 0);
}

/// Kills a writing process with SIGKILL at random moments, repeatedly in one folder.
#[test]
fn a_writer_killed_while_writing_loses_no_commit() {
    let (mut random, mut kills, mut seed) = (StdRng::seed_from_u64(3), 0, 100);
    while kills < crashes(15) {
        let script = Script::new(seed, 40);
        let folder = tempdir().unwrap();
        let mut done = 0;
        while done < script.len() && kills < crashes(15) {
            let reported = kill_at_random(folder.path(), seed, script.len() - done, &mut random);
            done = assert_prefix(folder.path(), &script, reported.unwrap_or(done), script.len());
            kills += 1;
        }
        seed += 1;
    }
}

/// Starts a writer and kills it. Returns the last write that it reported.
fn kill_at_random(folder: &Path, seed: u64, left: usize, random: &mut StdRng) -> Option<usize> {
    let mut child = test_process("child_process_writes_blocks", folder)
        .env("STORE_SEED", seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let reported = |line: &String| line.strip_prefix("written ").map(|number| number.parse().unwrap());
    let mut last = None;
    for _ in 0..random.random_range(0..left.min(12)) {
        let Some(line) = lines.find(|line| line.starts_with("written ")) else { break };
        last = reported(&line);
    }
    let wait = Duration::from_micros(random.random_range(0..4_000));
    let begun = Instant::now();
    while begun.elapsed() < wait {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    // Writes that it reported before it was killed, but that were not read yet.
    last = lines.filter_map(|line| reported(&line)).last().or(last);
    child.wait().unwrap();
    last
}

#[test]
#[ignore = "run by another test of this file, which kills it"]
fn child_process_writes_blocks() {
    let seed = std::env::var("STORE_SEED").unwrap().parse().unwrap();
    let script = Script::new(seed, 40);
    let store = Store::open(process_folder(), script.options).unwrap();
    println!();
    for write in script::done(&store)..script.len() {
        script.run(&store, write);
        println!("written {}", write + 1);
    }
    assert_eq!(script::done(&store), script.len());
}
