//! Runs many seeds, and shrinks the schedule of a failing one.

use std::{
    fmt,
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
};

/// A seed that violates a property.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub what: String,
    /// Acts that cannot be left out, each with its effect.
    pub trace: Vec<String>,
    /// Number of acts in the schedule.
    pub acts: usize,
    /// Command that repeats a seed.
    pub command: &'static str,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, what, trace, acts, command } = self;
        writeln!(f, "seed {seed}: {what}")?;
        writeln!(f, "repeat it with: {command} SEED={seed} SEEDS=1")?;
        writeln!(f, "what is left of its {acts} acts when none can be left out:")?;
        for line in trace {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}

/// Result of one schedule.
struct CampaignRun {
    counts: Counts,
    trace: Vec<String>,
    broken: Option<String>,
}

fn play_acts(setup: Setup, acts: &[Action]) -> CampaignRun {
    let mut run = match crate::quietly(|| Run::new(setup)) {
        Some(Ok(run)) => run,
        Some(Err(what)) => {
            return CampaignRun { counts: Counts::default(), trace: Vec::new(), broken: Some(what) };
        }
        None => {
            let broken = Some("the first process panics".to_owned());
            return CampaignRun { counts: Counts::default(), trace: Vec::new(), broken };
        }
    };
    let done = crate::quietly(|| {
        acts.iter().try_for_each(|act| run.apply(act))?;
        run.finish()
    });
    let broken = done.unwrap_or_else(|| Err("a panic".to_owned())).err();
    let mut counts = std::mem::take(&mut run.counts);
    counts.add(&run.fault_plan().counts);
    counts.add(&run.feed.counts);
    CampaignRun { counts, trace: std::mem::take(&mut run.trace), broken }
}

/// Runs one seed. Returns its counts, and a trace of every act with its effect.
///
/// # Errors
/// Returns the violated property and a shrunk schedule that still violates one.
pub fn play(seed: u64) -> Result<(Counts, Vec<String>), Box<Failure>> {
    let setup = Setup::draw(seed);
    let acts = schedule(&setup);
    let played = play_acts(setup, &acts);
    match played.broken {
        None => Ok((played.counts, played.trace)),
        Some(what) => Err(Box::new(shrink(setup, acts, what, played.trace))),
    }
}

/// Removes acts while the rest still violates a property.
fn shrink(setup: Setup, mut acts: Vec<Action>, mut what: String, mut trace: Vec<String>) -> Failure {
    let all = acts.len();
    let mut size = acts.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < acts.len() {
            let mut fewer = acts.clone();
            fewer.drain(at..acts.len().min(at + size));
            let played = play_acts(setup, &fewer);
            match played.broken {
                Some(broken) => (acts, what, trace) = (fewer, broken, played.trace),
                None => at += size,
            }
        }
        size /= 2;
    }
    trace.insert(0, format!("{setup:?}"));
    Failure { seed: setup.seed, what, trace, acts: all, command: "make simulate" }
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
