//! Short form of the cluster runs: a fixed number of seeds. `FORESEAL_SEEDS` sets another number of seeds and
//! `FORESEAL_SEED` the first one. `make simulate-cluster` is the long form.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use foreseal_simulation::{ClusterCounts, play_cluster, run_cluster_seeds};

/// Number of seeds that every change must pass. Each switch of `tests/campaigns/mutants/rust_tests.toml` that names
/// this test is detected within them.
const SEEDS: u64 = 150;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().expect("a number"))
}

/// No process shows anything that another owner does not continue, under faults of quorum store, feed and machines.
#[test]
fn every_seed_passes_the_cluster_campaign() {
    let (first, seeds) = (setting("FORESEAL_SEED", 1), setting("FORESEAL_SEEDS", SEEDS));
    let counts = run_cluster_seeds(first, seeds).unwrap_or_else(|failure| panic!("{failure}"));
    print!("{counts}");
    if seeds >= SEEDS {
        assert_cluster_faults_were_tried(&counts);
    }
}

/// Checks that each fault of the cluster was tried: a fault that is never tried finds no bug.
fn assert_cluster_faults_were_tried(counts: &ClusterCounts) {
    for fault in FAULTS {
        assert!(counts.faults.get(fault).is_some_and(|count| *count >= 3), "{fault}: {counts}");
    }
    for reason in ["no_owner", "no_writes", "released", "own"] {
        assert!(counts.takeovers.contains_key(reason), "{reason}: {counts}");
    }
    assert!(counts.large_appends > 0 && counts.fenced > 0, "{counts}");
}

const FAULTS: [&str; 27] = [
    "answers of the engine: all faults",
    "answers of the engine: doubled and reordered",
    "answers of the engine: lost and late",
    "append executed late",
    "clean stop",
    "engine compacted",
    "feed broken",
    "feed cut",
    "handover",
    "late requests executed",
    "leader of the engine changes",
    "majority of the engine lost",
    "member cut from the engine",
    "member cut from the engine before the answer to an append",
    "owner continues during a takeover",
    "part of an append executed late",
    "power lost",
    "power lost during a call of the engine",
    "process ends at a point of its work",
    "process killed",
    "process killed during a call of the engine",
    "process paused for less than the silence",
    "process paused for longer than the silence",
    "process paused for longer than the silence during a call of the engine",
    "record of the engine changed",
    "space of the engine exhausted",
    "wall clock set back",
];

/// A failing seed can be repeated.
#[test]
fn a_cluster_seed_is_reproducible() {
    for seed in 1..=15 {
        let played = || play_cluster(seed).unwrap_or_else(|failure| panic!("{failure}"));
        let (first, second) = (played(), played());
        assert_eq!(first.1, second.1, "seed {seed}");
        assert_eq!(first.0, second.0, "seed {seed}");
    }
}
