//! A run of a schedule, and the search for the shortest one that still fails.

use std::fmt;

/// A seed that violates a property.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub what: String,
    /// Events that cannot be left out, each with its effect.
    pub trace: Vec<String>,
    /// Number of events in the schedule.
    pub events: usize,
    /// Command that repeats a seed.
    pub command: &'static str,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, what, trace, events, command } = self;
        writeln!(f, "seed {seed}: {what}")?;
        writeln!(f, "repeat it with: {command} SEED={seed} SEEDS=1")?;
        writeln!(f, "what is left of its {events} events when none can be left out:")?;
        for line in trace {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}

/// Result of one schedule.
pub(crate) struct ScheduleRun<C> {
    pub counts: C,
    pub trace: Vec<String>,
    /// Violated property.
    pub broken: Option<String>,
}

impl<C: Default> ScheduleRun<C> {
    /// Returns the result of a schedule whose first process does not start.
    pub fn failed(why: String) -> Self {
        Self { counts: C::default(), trace: Vec::new(), broken: Some(why) }
    }
}

/// Setup of a seed, and the limits of a search.
pub(crate) struct Seed<'a> {
    pub number: u64,
    pub setup: &'a dyn fmt::Debug,
    /// Command that repeats the seed.
    pub command: &'static str,
    /// Maximum number of runs of shorter schedules.
    pub max_runs: u64,
}

/// Plays a schedule. Returns its counts, and a trace of its events with their effects.
///
/// # Errors
/// Returns the violated property and a shrunk schedule that still violates one.
pub(crate) fn play_schedule<E: Clone, C>(
    seed: &Seed<'_>,
    events: Vec<E>,
    play: &dyn Fn(&[E]) -> ScheduleRun<C>,
) -> Result<(C, Vec<String>), Box<Failure>> {
    let played = play(&events);
    match played.broken {
        None => Ok((played.counts, played.trace)),
        Some(what) => Err(Box::new(shrink(seed, events, (what, played.trace), play))),
    }
}

/// Removes events while the rest still violates a property.
fn shrink<E: Clone, C>(
    seed: &Seed<'_>,
    mut events: Vec<E>,
    (mut what, mut trace): (String, Vec<String>),
    play: &dyn Fn(&[E]) -> ScheduleRun<C>,
) -> Failure {
    let all = events.len();
    let (mut size, mut runs) = (events.len().div_ceil(2), seed.max_runs);
    while size > 0 && runs > 0 {
        let mut at = 0;
        while at < events.len() && runs > 0 {
            let mut fewer = events.clone();
            fewer.drain(at..events.len().min(at + size));
            let played = play(&fewer);
            runs -= 1;
            match played.broken {
                Some(broken) => (events, what, trace) = (fewer, broken, played.trace),
                None => at += size,
            }
        }
        size /= 2;
    }
    trace.insert(0, format!("{:?}", seed.setup));
    Failure { seed: seed.number, what, trace, events: all, command: seed.command }
}
