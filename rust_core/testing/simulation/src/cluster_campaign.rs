//! Runs cluster seeds, and shrinks the schedule of a failing one.

use crate::{
    campaign::{Failure, run_on_all_cores},
    cluster_counts::ClusterCounts,
    cluster_event::{ClusterEvent, ClusterSetup, cluster_schedule},
    cluster_world::ClusterWorld,
};

/// Maximum simulated time of the runs that shrink a failing schedule, in milliseconds.
const MAX_SHRINK_TIME: u64 = 1_500_000;

/// Result of one schedule.
struct ClusterRun {
    counts: ClusterCounts,
    trace: Vec<String>,
    broken: Option<String>,
}

fn play_events(setup: ClusterSetup, events: &[(u64, ClusterEvent)]) -> ClusterRun {
    let failed =
        |what| ClusterRun { counts: ClusterCounts::default(), trace: Vec::new(), broken: Some(what) };
    let world = match ClusterWorld::new(setup, events.to_vec()) {
        Ok(world) => world,
        Err(what) => return failed(what),
    };
    let done = crate::quietly(|| {
        world.run_until(setup.length);
        world.finish()
    });
    let broken = done.unwrap_or_else(|| Err("a panic".to_owned())).err();
    world.leave();
    let mut counts = world.counts.take();
    for station in &world.stations {
        let plan = station.fault_plan();
        for (kind, count) in plan.counts.faults.iter().chain(&plan.counts.crashes) {
            *counts.faults.entry(kind).or_default() += count;
        }
    }
    ClusterRun { counts, trace: world.trace.take(), broken }
}

/// Runs one cluster seed. Returns its counts, and a trace of its events with their effects.
///
/// # Errors
/// Returns the violated property and a shrunk schedule that still violates one.
pub fn play_cluster(seed: u64) -> Result<(ClusterCounts, Vec<String>), Box<Failure>> {
    let setup = ClusterSetup::draw(seed);
    let events = cluster_schedule(&setup);
    let played = play_events(setup, &events);
    match played.broken {
        None => Ok((played.counts, played.trace)),
        Some(what) => Err(Box::new(shrink(setup, events, what, played.trace))),
    }
}

/// Removes events while the rest still violates a property.
fn shrink(
    setup: ClusterSetup,
    mut events: Vec<(u64, ClusterEvent)>,
    mut what: String,
    mut trace: Vec<String>,
) -> Failure {
    let all = events.len();
    let (mut size, mut runs) = (events.len().div_ceil(2), MAX_SHRINK_TIME / setup.length);
    while size > 0 && runs > 0 {
        let mut at = 0;
        while at < events.len() && runs > 0 {
            let mut fewer = events.clone();
            fewer.drain(at..events.len().min(at + size));
            let played = play_events(setup, &fewer);
            runs -= 1;
            match played.broken {
                Some(broken) => (events, what, trace) = (fewer, broken, played.trace),
                None => at += size,
            }
        }
        size /= 2;
    }
    trace.insert(0, format!("{setup:?}"));
    Failure { seed: setup.seed, what, trace, acts: all, command: "make simulate-cluster" }
}

/// Runs `count` cluster seeds from `first` on, on all cores. Returns the sum of their counts.
///
/// # Errors
/// Returns the lowest failing seed among those that ran before the run was stopped.
pub fn run_cluster_seeds(first: u64, count: u64) -> Result<ClusterCounts, Box<Failure>> {
    let play = |seed| play_cluster(seed).map(|(counts, _)| counts);
    run_on_all_cores((first, count), &play, ClusterCounts::add)
}
