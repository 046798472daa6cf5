//! Short form of the simulation: a fixed number of seeds, about a minute on two cores. `FORESEAL_SEEDS` sets
//! another number of seeds and `FORESEAL_SEED` the first one. `make simulate` is the long form.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use foreseal_simulation::{Counts, every_byte, every_cut, play, run_seeds};

/// Number of seeds that every change must pass.
const SEEDS: u64 = 4_000;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().expect("a number"))
}

/// All properties hold under faults of disk, clocks, processes and connections.
#[test]
fn every_seed_passes_the_campaign() {
    let (first, seeds) = (setting("FORESEAL_SEED", 1), setting("FORESEAL_SEEDS", SEEDS));
    let counts = run_seeds(first, seeds).unwrap_or_else(|failure| panic!("{failure}"));
    print!("{counts}");
    if seeds >= SEEDS {
        assert_everything_was_tried(&counts);
    }
}

/// Checks that each fault and crash was tried at least 20 times: a fault that is never tried finds no bug.
fn assert_everything_was_tried(counts: &Counts) {
    assert_eq!((counts.faults.len(), counts.crashes.len()), (FAULTS, CRASHES), "{counts}");
    let least = counts.faults.iter().chain(&counts.crashes).min_by_key(|(_, count)| **count);
    assert!(least.is_some_and(|(_, count)| *count >= 20), "{counts}");
}

const FAULTS: usize = 47;
const CRASHES: usize = 20;

/// A failing seed can be repeated.
#[test]
fn a_seed_is_reproducible() {
    for seed in 1..=40 {
        let played = || play(seed).unwrap_or_else(|failure| panic!("{failure}"));
        let (first, second) = (played(), played());
        assert_eq!(first.1, second.1, "seed {seed}");
        assert_eq!(first.0, second.0, "seed {seed}");
    }
}

/// Tests one in 23 bytes and lengths; the long form tests all.
#[test]
fn damage_is_reported_unless_it_tears_the_last_append() {
    let done = every_byte(11, 23).unwrap_or_else(|what| panic!("{what}"));
    assert!(done.rejected > 500 && done.starts > done.rejected, "{done:?}");
}

/// Tests one in 23 bytes of an exchange.
#[test]
fn a_connection_cut_anywhere_is_resumed() {
    let done = every_cut(5, 23).unwrap_or_else(|what| panic!("{what}"));
    assert!(done.connections > 100 && done.down > 4_000 && done.up > 200, "{done:?}");
}
