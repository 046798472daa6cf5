//! The loop of the writing thread: it ticks while the process leads, and follows while it does not.

use std::time::Duration;

use foreseal_chain::ClockReading;
use foreseal_quorum::BEAT_INTERVAL;

use crate::{
    cluster::{busy_beat::BusyBeat, member_loop::MemberLoop},
    control::producer::Producer,
    errors::node_error::NodeError,
    shared::shared_state::SharedState,
};

/// Work of a process that leads, or that leads at times.
pub(crate) trait LeaderWork {
    /// Returns `true` while this process writes the chain.
    fn leads(&self) -> bool;

    /// Follows the leader for a while. Returns the time until the next call.
    fn follow(&mut self) -> Result<Duration, NodeError> {
        Ok(Duration::ZERO)
    }

    /// Returns the longest time without a proof that this process leads; `None` if no other process needs one.
    fn beat_interval(&self) -> Option<Duration> {
        None
    }

    /// Proves that this process leads.
    fn beat(&mut self) -> Result<(), NodeError> {
        Ok(())
    }

    /// Runs one tick: see [`Producer::tick`].
    fn tick(&mut self, now: ClockReading, keep_going: &mut dyn FnMut() -> bool) -> Result<(), NodeError>;

    /// Returns the time budget for selecting transactions within a step.
    fn budget(&self) -> Duration;
}

impl LeaderWork for Producer {
    fn leads(&self) -> bool {
        true
    }

    fn tick(&mut self, now: ClockReading, keep_going: &mut dyn FnMut() -> bool) -> Result<(), NodeError> {
        Ok(Producer::tick(self, now, keep_going)?)
    }

    fn budget(&self) -> Duration {
        Producer::budget(self)
    }
}

/// Work of a member of a cluster, which also beats during long ticks.
pub(crate) struct MemberWork<'a> {
    pub member_loop: &'a mut MemberLoop,
    pub busy: BusyBeat,
}

impl LeaderWork for MemberWork<'_> {
    fn leads(&self) -> bool {
        self.member_loop.leads()
    }

    fn follow(&mut self) -> Result<Duration, NodeError> {
        self.member_loop.poll()
    }

    fn beat_interval(&self) -> Option<Duration> {
        Some(BEAT_INTERVAL)
    }

    fn beat(&mut self) -> Result<(), NodeError> {
        self.member_loop.beat()
    }

    fn tick(&mut self, now: ClockReading, keep_going: &mut dyn FnMut() -> bool) -> Result<(), NodeError> {
        let Self { member_loop, busy } = self;
        busy.during(now.monotonic, || member_loop.tick(now, keep_going))
    }

    fn budget(&self) -> Duration {
        self.member_loop.budget()
    }
}

/// Runs `work` until the node is stopped. Ticks are `step` apart by the monotonic clock, the first at `next`; missed
/// ticks are not made up for.
pub(crate) fn run_until_stopped(
    work: &mut impl LeaderWork,
    shared: &SharedState,
    step: Duration,
    mut next: Duration,
) -> Result<(), NodeError> {
    let clock = &shared.clock;
    while !shared.stop.is_stopping() {
        if !work.leads() {
            let wait = work.follow()?;
            next = clock.monotonic();
            if !work.leads() {
                shared.stop.sleep(clock.real(wait));
            }
            continue;
        }
        let now = clock.now();
        if now.monotonic < next {
            let rest = next.saturating_sub(now.monotonic);
            let beat = work.beat_interval();
            shared.stop.sleep(clock.real(beat.map_or(rest, |interval| rest.min(interval))));
            // Long steps leave time in which standbys would hear nothing.
            if beat.is_some_and(|interval| rest > interval) {
                work.beat()?;
            }
            continue;
        }
        let until = now.monotonic + work.budget();
        work.tick(now, &mut || clock.monotonic() < until)?;
        next = (next + step).max(clock.monotonic());
    }
    Ok(())
}
