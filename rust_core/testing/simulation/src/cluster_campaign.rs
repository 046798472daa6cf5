//! Runs cluster seeds, and shrinks the schedule of a failing one.

use crate::{
    campaign::run_on_all_cores,
    cluster_counts::ClusterCounts,
    cluster_event::{ClusterEvent, ClusterSetup, cluster_schedule},
    cluster_world::ClusterWorld,
    schedule_run::{Failure, ScheduleRun, Seed, play_schedule},
};

/// Maximum simulated time of the runs that shrink a failing schedule, in milliseconds.
const MAX_SHRINK_TIME: u64 = 1_500_000;

fn play_events(setup: ClusterSetup, events: &[(u64, ClusterEvent)]) -> ScheduleRun<ClusterCounts> {
    let world = match ClusterWorld::new(setup, events.to_vec()) {
        Ok(world) => world,
        Err(what) => return ScheduleRun::failed(what),
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
    ScheduleRun { counts, trace: world.trace.take(), broken }
}

/// Runs one cluster seed. Returns its counts, and a trace of its events with their effects.
///
/// # Errors
/// Returns the violated property and a shrunk schedule that still violates one.
pub fn play_cluster(seed: u64) -> Result<(ClusterCounts, Vec<String>), Box<Failure>> {
    let setup = ClusterSetup::draw(seed);
    let max_runs = MAX_SHRINK_TIME / setup.length;
    let run = Seed { number: seed, setup: &setup, command: "make simulate-cluster", max_runs };
    play_schedule(&run, cluster_schedule(&setup), &|events| play_events(setup, events))
}

/// Runs `count` cluster seeds from `first` on, on all cores. Returns the sum of their counts.
///
/// # Errors
/// Returns the lowest failing seed among those that ran before the run was stopped.
pub fn run_cluster_seeds(first: u64, count: u64) -> Result<ClusterCounts, Box<Failure>> {
    let play = |seed| play_cluster(seed).map(|(counts, _)| counts);
    run_on_all_cores((first, count), &play, ClusterCounts::add)
}
