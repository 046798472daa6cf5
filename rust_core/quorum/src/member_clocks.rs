//! Differences between the clock of this process and those of the other members.

use std::{collections::HashMap, time::Duration};

use foreseal_chain::ClockReading;

use crate::{member_entry::MemberEntry, run_id::RunId};

/// Difference up to which two clocks agree, in milliseconds.
const MAX_DIFFERENCE: i64 = 2_000;
/// Time after the last update of its entry for which the clock of a member counts. Members update it every 5 s.
const MAX_AGE: Duration = Duration::from_secs(15);
/// Maximum time from the reading of a clock to the write of its entry, in milliseconds: one attempt at an endpoint.
const MAX_WRITE_TIME: i64 = 400;
/// Maximum width of a range from which a clock is judged, in milliseconds.
const MAX_WIDTH: i64 = 1_500;

/// Clocks of the other members, estimated from the times in their entries: a new entry was written after the reading
/// that lacked it and before the one that has it. Safety never depends on them.
#[derive(Debug)]
pub struct MemberClocks {
    own: RunId,
    members: HashMap<String, SeenClock>,
    /// Monotonic time at which the last reading began.
    read: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct SeenClock {
    /// Time in the entry.
    updated: u64,
    /// `None` until an update was seen.
    range: Option<ClockRange>,
    /// Monotonic time at which the newest update was seen.
    since: Duration,
}

/// Range of the wall clock of a member at the zero of this process's monotonic clock, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockRange {
    earliest: i64,
    latest: i64,
}

impl ClockRange {
    fn from_reading(now: ClockReading) -> Self {
        let base = millis(now.unix).saturating_sub(millis(now.monotonic));
        Self { earliest: base, latest: base }
    }

    /// Returns `true` if the two clocks may agree.
    fn agrees(self, other: Self) -> bool {
        self.earliest.saturating_sub(other.latest) <= MAX_DIFFERENCE
            && other.earliest.saturating_sub(self.latest) <= MAX_DIFFERENCE
    }

    fn middle(self) -> i64 {
        self.earliest.midpoint(self.latest)
    }
}

impl MemberClocks {
    /// Creates a record without members, for the process with this run id.
    pub fn new(own: RunId) -> Self {
        Self { own, members: HashMap::new(), read: None }
    }

    /// Accepts the entries of a reading that began at the monotonic time `began` and ended at `now`.
    pub fn record(&mut self, entries: Vec<MemberEntry>, began: Duration, now: ClockReading) {
        let (previous, monotonic) = (self.read.replace(began), now.monotonic);
        let mut before = std::mem::take(&mut self.members);
        for entry in entries.into_iter().filter(|entry| entry.run_id != self.own) {
            let (name, updated) = (entry.key_name(), entry.updated);
            let seen = match before.remove(&name) {
                Some(seen) if seen.updated == updated => seen,
                Some(seen) => {
                    let range = previous.and_then(|previous| range_of(updated, previous, monotonic));
                    SeenClock { updated, range: range.or(seen.range), since: monotonic }
                }
                None => SeenClock { updated, range: None, since: monotonic },
            };
            self.members.insert(name, seen);
        }
    }

    /// Returns the milliseconds by which the clock of this process is ahead of those of a majority of all members,
    /// which agree with each other; negative if it is behind. `None` if no majority differs from it.
    pub fn disagreement(&self, now: ClockReading) -> Option<i64> {
        let own = ClockRange::from_reading(now);
        let is_current = |seen: &&SeenClock| now.monotonic.saturating_sub(seen.since) < MAX_AGE;
        let ranges: Vec<ClockRange> =
            self.members.values().filter(is_current).filter_map(|seen| seen.range).collect();
        let differing: Vec<ClockRange> = ranges.iter().copied().filter(|range| !range.agrees(own)).collect();
        let support = |range: &ClockRange| differing.iter().filter(|other| other.agrees(*range)).count();
        let (count, most) =
            differing.iter().map(|range| (support(range), range)).max_by_key(|(count, _)| *count)?;
        let members = ranges.len().saturating_add(1);
        (count.saturating_mul(2) > members).then(|| own.middle().saturating_sub(most.middle()))
    }
}

/// Returns the range of a clock that showed `updated` between two readings; `None` if they are too far apart.
fn range_of(updated: u64, previous: Duration, now: Duration) -> Option<ClockRange> {
    let updated = i64::try_from(updated).ok()?;
    let (first, last) = (millis(previous).saturating_sub(MAX_WRITE_TIME), millis(now));
    let range = ClockRange { earliest: updated.saturating_sub(last), latest: updated.saturating_sub(first) };
    (last.saturating_sub(first) <= MAX_WIDTH).then_some(range)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: RunId = RunId([9; 16]);
    const START: i64 = 1_000_000;
    const READ_INTERVAL: u64 = 500;

    fn now(ms: u64) -> ClockReading {
        let monotonic = Duration::from_millis(ms);
        ClockReading { unix: Duration::from_secs(1_000) + monotonic, monotonic }
    }

    /// Reads entries every half second up to `end`. Member n updates its entry every 5 s, up to `dies[n]`, by a clock
    /// that is ahead by `ahead[n]` milliseconds.
    fn observe(ahead: &[i64], dies: &[u64], end: u64) -> Option<i64> {
        let mut clocks = MemberClocks::new(OWN);
        for at in (0..=end).step_by(usize::try_from(READ_INTERVAL).unwrap()) {
            let entry = |(index, ahead): (usize, &i64)| {
                let updated = at.min(dies[index]) / 5_000 * 5_000;
                let shown = START + i64::try_from(updated).unwrap() + ahead;
                MemberEntry::standby(u8::try_from(index).unwrap(), 0, u64::try_from(shown).unwrap())
            };
            let mut entries: Vec<_> = ahead.iter().enumerate().map(entry).collect();
            entries.push(MemberEntry::standby(9, 0, 0));
            clocks.record(entries, now(at).monotonic, now(at + 2));
        }
        clocks.disagreement(now(end + 10))
    }

    const ALIVE: [u64; 4] = [u64::MAX; 4];

    #[test]
    fn clock_that_differs_from_all_others_is_found() {
        for ahead in [-30_000, -4_000, 3_500, 3_600_000] {
            let offset = observe(&[ahead, ahead + 300], &ALIVE, 20_000).unwrap();
            assert!((offset + ahead).abs() < 1_000, "{offset} for {ahead}");
        }
    }

    #[test]
    fn clocks_within_two_seconds_agree() {
        for ahead in [-2_000, -1_000, 0, 1_900] {
            assert_eq!(observe(&[ahead, ahead], &ALIVE, 20_000), None);
        }
    }

    #[test]
    fn one_member_of_three_with_another_clock_does_not_matter() {
        assert_eq!(observe(&[-30_000, 0], &ALIVE, 20_000), None);
    }

    #[test]
    fn without_a_majority_for_one_time_no_clock_is_wrong() {
        assert_eq!(observe(&[-30_000], &ALIVE, 20_000), None, "two members");
        assert_eq!(observe(&[-30_000, 30_000], &ALIVE, 20_000), None, "three times");
        assert_eq!(observe(&[], &ALIVE, 20_000), None);
    }

    #[test]
    fn member_that_is_gone_counts_for_a_while() {
        let dies = [20_000, u64::MAX, u64::MAX, u64::MAX];
        assert!(observe(&[30_000, 30_000], &dies, 30_000).is_some());
        assert_eq!(observe(&[30_000, 30_000], &dies, 40_000), None);
    }

    #[test]
    fn first_sight_of_an_entry_tells_nothing_about_its_clock() {
        assert_eq!(observe(&[-30_000, -30_000], &ALIVE, 4_000), None);
    }
}
