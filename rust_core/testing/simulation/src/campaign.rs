//! Runs many seeds, and shrinks the schedule of a failing one.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use crate::{
    action::{Action, Setup, schedule},
    counts::Counts,
    run::Run,
    schedule_run::{Failure, ScheduleRun, Seed, play_schedule},
};

/// Maximum number of runs that shrink a failing schedule: as many as it takes.
const MAX_SHRINK_RUNS: u64 = u64::MAX;

fn play_acts(setup: Setup, acts: &[Action]) -> ScheduleRun<Counts> {
    let mut run = match crate::quietly(|| Run::new(setup)) {
        Some(Ok(run)) => run,
        Some(Err(what)) => return ScheduleRun::failed(what),
        None => return ScheduleRun::failed("the first process panics".to_owned()),
    };
    let done = crate::quietly(|| {
        acts.iter().try_for_each(|act| run.apply(act))?;
        run.finish()
    });
    let broken = done.unwrap_or_else(|| Err("a panic".to_owned())).err();
    let mut counts = std::mem::take(&mut run.counts);
    counts.add(&run.fault_plan().counts);
    counts.add(&run.feed.counts);
    ScheduleRun { counts, trace: std::mem::take(&mut run.trace), broken }
}

/// Runs one seed. Returns its counts, and a trace of every act with its effect.
///
/// # Errors
/// Returns the violated property and a shrunk schedule that still violates one.
pub fn play(seed: u64) -> Result<(Counts, Vec<String>), Box<Failure>> {
    let setup = Setup::draw(seed);
    let run = Seed { number: seed, setup: &setup, command: "make simulate", max_runs: MAX_SHRINK_RUNS };
    play_schedule(&run, schedule(&setup), &|acts| play_acts(setup, acts))
}

/// Runs `count` seeds from `first` on, on all cores. Returns the sum of their counts.
///
/// # Errors
/// Returns the lowest failing seed among those that ran before the run was stopped.
pub fn run_seeds(first: u64, count: u64) -> Result<Counts, Box<Failure>> {
    run_on_all_cores((first, count), &|seed| play(seed).map(|(counts, _)| counts), Counts::add)
}

/// Runs a number of seeds from the first one on, on all cores. Returns the sum of their counts, which `add`
/// computes.
///
/// # Errors
/// Returns the lowest failing seed among those that ran before the run was stopped.
pub(crate) fn run_on_all_cores<C: Default + Send>(
    (first, count): (u64, u64),
    play: &(dyn Fn(u64) -> Result<C, Box<Failure>> + Sync),
    add: fn(&mut C, &C),
) -> Result<C, Box<Failure>> {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new((C::default(), None::<Box<Failure>>));
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            let played = play(first + at);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            match played {
                Ok(counts) => add(&mut total.0, &counts),
                Err(failure) => {
                    stop.store(true, Ordering::Relaxed);
                    if total.1.as_ref().is_none_or(|previous| failure.seed < previous.seed) {
                        total.1 = Some(failure);
                    }
                }
            }
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let (counts, failure) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(counts), Err)
}
