//! Detection of a node that no longer receives or writes steps.

use std::time::Duration;

use crate::wire::{HEARTBEAT_INTERVAL, Heartbeat, MAX_REMOTE_SILENCE};

/// Number of heartbeats with an old tick after which a node that did not tick on this connection is stale.
const MAX_STALE_HEARTBEATS: u32 = 3;
/// Number of steps without a tick after which a node that ticked is stale.
const MAX_MISSED_STEPS: u32 = 3;

/// Ticks of the followed node on one connection.
///
/// A leader that is cut off from the quorum still sends heartbeats. Its followers do not learn of the next leader from
/// it, so they leave it after the time in which a standby takes over. They stay longer at a node that was stale when
/// they came: it may be the one that takes over, and without a quorum no node is better.
#[derive(Debug, Default)]
pub(super) struct UpstreamTicks {
    has_ticked: bool,
    /// Number of heartbeats in a row with an old tick.
    stale_heartbeats: u32,
}

impl UpstreamTicks {
    /// Records a heartbeat of a node that produces a step every `step`. Returns `true` if another node may be more
    /// up to date.
    pub fn is_stale_after(&mut self, heartbeat: &Heartbeat, step: Duration) -> bool {
        self.has_ticked |= heartbeat.ticked;
        let missed_steps = step * MAX_MISSED_STEPS;
        if self.has_ticked && heartbeat.age >= HEARTBEAT_INTERVAL.max(missed_steps) {
            return true;
        }
        if heartbeat.age < MAX_REMOTE_SILENCE.max(missed_steps) {
            self.stale_heartbeats = 0;
            return false;
        }
        self.stale_heartbeats += 1;
        self.stale_heartbeats >= MAX_STALE_HEARTBEATS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(200);

    fn heartbeat(age_ms: u64) -> Heartbeat {
        Heartbeat { ticked: age_ms == 0, age: Duration::from_millis(age_ms), next: 1, latest: 1 }
    }

    /// Returns the number of heartbeats with these ages until the node is stale; `None` if it is not.
    fn stale_at(ages_ms: &[u64], step: Duration) -> Option<usize> {
        let mut ticks = UpstreamTicks::default();
        ages_ms.iter().position(|age_ms| ticks.is_stale_after(&heartbeat(*age_ms), step)).map(|at| at + 1)
    }

    #[test]
    fn node_that_stops_ticking_is_stale_at_the_next_heartbeat() {
        assert_eq!(stale_at(&[0, 0, 0, 1_000, 2_000], STEP), Some(4));
        assert_eq!(stale_at(&[0, 999, 0, 999], STEP), None);
    }

    #[test]
    fn node_that_was_stale_before_has_time_to_take_over() {
        assert_eq!(stale_at(&[1_000, 1_000, 2_000, 2_999, 0, 0], STEP), None);
        assert_eq!(stale_at(&[3_000, 3_000, 0, 200], STEP), None);
        assert_eq!(stale_at(&[2_000, 3_000, 4_000, 5_000], STEP), Some(4));
    }

    #[test]
    fn slow_steps_are_not_stale() {
        let step = Duration::from_secs(4);
        assert_eq!(stale_at(&[0, 1_000, 2_000, 4_000, 5_000, 11_999], step), None);
        assert_eq!(stale_at(&[0, 4_000, 12_000], step), Some(3));
        assert_eq!(stale_at(&[4_000, 5_000, 6_000, 7_000], step), None);
    }
}
