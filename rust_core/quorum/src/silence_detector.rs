//! Detection of an owner that no longer writes.

use std::time::Duration;

use crate::{observation::Observation, run_id::RunId};

/// Silence after which a standby takes over.
const MAX_QUIET: Duration = Duration::from_millis(800);
/// The same if the owner's feed refuses connections.
const MAX_QUIET_REFUSED: Duration = Duration::from_millis(100);
/// Maximum time between answered reads; a longer one restarts the count.
const MAX_READ_GAP: Duration = Duration::from_millis(400);

/// Decides from a standby's own reads when the owner is silent. Clocks of other machines have no influence.
#[derive(Clone, Debug)]
pub struct SilenceDetector {
    run_id: RunId,
    last: Option<LastRead>,
}

#[derive(Clone, Copy, Debug)]
struct LastRead {
    revisions: [u64; 3],
    /// Time of the first read with these revisions.
    since: Duration,
    answered: Duration,
}

/// State of the port of the owner's feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedPort {
    /// The port refuses connections: the process has probably ended.
    Refused,
    /// The port accepts connections, or its state is unknown.
    Unknown,
}

/// Conclusion of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The owner is not silent for long enough; `quiet` is the time without a change.
    Active { quiet: Duration },
    /// This process is the owner.
    Own,
    /// This process should acquire the ownership.
    Silent(SilenceReason),
}

/// Reasons for a takeover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilenceReason {
    /// The chain never had an owner.
    NoOwner,
    /// The owner released the chain.
    Released,
    /// The owner wrote nothing, and its feed refuses connections.
    FeedRefused,
    /// The owner wrote nothing.
    NoWrites,
}

impl SilenceReason {
    /// Returns the code of the reason in JSON and logs.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoOwner => "no_owner",
            Self::Released => "released",
            Self::FeedRefused => "feed_refused",
            Self::NoWrites => "no_writes",
        }
    }
}

impl SilenceDetector {
    /// Returns a detector for the process with this run id.
    pub fn new(run_id: RunId) -> Self {
        Self { run_id, last: None }
    }

    /// Accepts the result of a read that ended at `at` by a monotonic clock.
    pub fn record(&mut self, at: Duration, observed: &Observation, feed: FeedPort) -> Silence {
        let revisions = [observed.owner_revision(), observed.beat_revision, observed.head_revision()];
        let since = self.last.filter(|last| last.revisions == revisions && Self::is_continuous(last, at));
        let since = since.map_or(at, |last| last.since);
        self.last = Some(LastRead { revisions, since, answered: at });
        self.judge(observed, at.saturating_sub(since), feed)
    }

    fn is_continuous(last: &LastRead, at: Duration) -> bool {
        at.saturating_sub(last.answered) <= MAX_READ_GAP
    }

    fn judge(&self, observed: &Observation, quiet: Duration, feed: FeedPort) -> Silence {
        let Some(entry) = &observed.owner else { return Silence::Silent(SilenceReason::NoOwner) };
        let owner = &entry.owner;
        if owner.released {
            let is_preferred = owner.run_id != self.run_id
                && owner.successor.is_none_or(|successor| successor == self.run_id);
            return if is_preferred || quiet >= MAX_QUIET {
                Silence::Silent(SilenceReason::Released)
            } else {
                Silence::Active { quiet }
            };
        }
        if owner.run_id == self.run_id {
            Silence::Own
        } else if quiet >= MAX_QUIET {
            Silence::Silent(SilenceReason::NoWrites)
        } else if feed == FeedPort::Refused && quiet >= MAX_QUIET_REFUSED {
            Silence::Silent(SilenceReason::FeedRefused)
        } else {
            Silence::Active { quiet }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{observation::OwnerEntry, owner::Owner};

    const ME: RunId = RunId([1; 16]);
    const OTHER: RunId = RunId([2; 16]);

    fn observation(revision: u64) -> Observation {
        let owner = Owner {
            run_id: OTHER,
            epoch: 1,
            name: "a".into(),
            feed: String::new(),
            rpc: String::new(),
            version: String::new(),
            successor: None,
            released: false,
        };
        let owner = Some(OwnerEntry { owner, revision: 1 });
        Observation { owner, beat_revision: revision, head: None }
    }

    fn released(successor: Option<RunId>) -> Observation {
        let mut observed = observation(1);
        let owner = &mut observed.owner.as_mut().unwrap().owner;
        (owner.released, owner.successor) = (true, successor);
        observed
    }

    fn record_all(observed: &Observation, times: &[u64], feed: FeedPort) -> Silence {
        let mut detector = SilenceDetector::new(ME);
        let record = |&at: &u64| detector.record(Duration::from_millis(at), observed, feed);
        times.iter().map(record).last().unwrap()
    }

    #[test]
    fn owner_without_writes_is_silent_after_800_ms() {
        let times: Vec<u64> = (0..8).map(|n| n * 100).collect();
        let quiet = Duration::from_millis(700);
        assert_eq!(record_all(&observation(1), &times, FeedPort::Unknown), Silence::Active { quiet });
        let times: Vec<u64> = (0..9).map(|n| n * 100).collect();
        let expected = Silence::Silent(SilenceReason::NoWrites);
        assert_eq!(record_all(&observation(1), &times, FeedPort::Unknown), expected);
    }

    #[test]
    fn any_write_restarts_the_count() {
        let mut detector = SilenceDetector::new(ME);
        for at in 0..30 {
            let observed = observation(at / 5);
            let silence = detector.record(Duration::from_millis(at * 100), &observed, FeedPort::Unknown);
            assert_eq!(silence, Silence::Active { quiet: Duration::from_millis(at % 5 * 100) });
        }
    }

    #[test]
    fn gap_between_answered_reads_restarts_the_count() {
        let times = [0, 100, 200, 300, 701, 801];
        let quiet = Duration::from_millis(100);
        assert_eq!(record_all(&observation(1), &times, FeedPort::Unknown), Silence::Active { quiet });
    }

    #[test]
    fn refused_feed_shortens_the_silence() {
        let quiet = Duration::from_millis(90);
        assert_eq!(record_all(&observation(1), &[0, 90], FeedPort::Refused), Silence::Active { quiet });
        let expected = Silence::Silent(SilenceReason::FeedRefused);
        assert_eq!(record_all(&observation(1), &[0, 100], FeedPort::Refused), expected);
    }

    #[test]
    fn released_owner_is_silent_at_once_for_its_successor() {
        let expected = Silence::Silent(SilenceReason::Released);
        assert_eq!(record_all(&released(None), &[0], FeedPort::Unknown), expected);
        assert_eq!(record_all(&released(Some(ME)), &[0], FeedPort::Unknown), expected);
        let quiet = Duration::from_millis(400);
        let other = released(Some(OTHER));
        assert_eq!(record_all(&other, &[0, 400], FeedPort::Unknown), Silence::Active { quiet });
        assert_eq!(record_all(&other, &[0, 400, 800], FeedPort::Unknown), expected);
    }

    #[test]
    fn process_that_released_waits_for_a_standby() {
        let mut own = released(None);
        own.owner.as_mut().unwrap().owner.run_id = ME;
        let quiet = Duration::from_millis(400);
        assert_eq!(record_all(&own, &[0, 400], FeedPort::Unknown), Silence::Active { quiet });
    }

    #[test]
    fn absent_owner_and_own_ownership_are_distinguished() {
        let absent = Observation::default();
        let expected = Silence::Silent(SilenceReason::NoOwner);
        assert_eq!(record_all(&absent, &[0], FeedPort::Unknown), expected);
        let mut own = observation(1);
        own.owner.as_mut().unwrap().owner.run_id = ME;
        assert_eq!(record_all(&own, &[0, 400, 800], FeedPort::Unknown), Silence::Own);
    }
}
