//! When a block is due, and which timestamp it carries (durability.md, "Time").

use std::time::Duration;

use foreseal_types::mutant;

use crate::Now;

/// The slot of the block being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The block's timestamp, Unix seconds.
    pub timestamp: u64,
    /// Monotonic time at which the block is due to be sealed.
    pub due: Duration,
}

impl Slot {
    /// The slot that holds `now`, for a child of a block with timestamp `parent`.
    ///
    /// Slots end at whole multiples of the block time (seconds) of the wall clock. A wall clock that went back
    /// lowers no timestamp, and stalls nothing: the block after the one sealed early is not cut short for it, or every
    /// little step back would put timestamps a block time further ahead of the clock.
    pub fn at(now: Now, parent: u64, block_time: u64) -> Self {
        let slot = (now.unix.as_secs() / block_time).saturating_add(1).saturating_mul(block_time);
        let least = if mutant!("timestamp-from-the-clock") { 0 } else { parent.saturating_add(block_time) };
        Self::of(now, slot.max(least), block_time)
    }

    /// The slot of a block with this timestamp, new or found in progress by a restart: due at its timestamp, at once if
    /// that is past, and never later than a block time from now.
    pub fn of(now: Now, timestamp: u64, block_time: u64) -> Self {
        let wait = Duration::from_secs(timestamp).saturating_sub(now.unix);
        Self { timestamp, due: now.monotonic + wait.min(Duration::from_secs(block_time)) }
    }

    /// Whether the block is due.
    pub fn ended(&self, now: Now) -> bool {
        now.monotonic >= self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(unix_ms: u64, monotonic_ms: u64) -> Now {
        Now { unix: Duration::from_millis(unix_ms), monotonic: Duration::from_millis(monotonic_ms) }
    }

    #[test]
    fn a_slot_is_named_by_the_second_at_which_it_ends() {
        let slot = Slot::at(now(10_700, 500), 8, 2);
        assert_eq!(slot.timestamp, 12);
        assert_eq!(slot.due, Duration::from_millis(1_800));
        assert!(!slot.ended(now(11_999, 1_799)) && slot.ended(now(12_000, 1_800)));
    }

    #[test]
    fn at_the_end_of_a_slot_the_next_one_begins() {
        assert_eq!(Slot::at(now(12_000, 0), 12, 2).timestamp, 14);
    }

    #[test]
    fn a_clock_that_goes_back_never_lowers_a_timestamp_and_never_stalls() {
        let slot = Slot::at(now(5_000, 0), 1_000, 2);
        assert_eq!(slot.timestamp, 1_002);
        assert_eq!(slot.due, Duration::from_secs(2));
        let resumed = Slot::of(now(5_000, 0), 1_002, 2);
        assert_eq!(resumed.due, Duration::from_secs(2));
    }

    #[test]
    fn a_clock_that_goes_back_a_little_cuts_no_block_short() {
        // The block of slot 12 is sealed a millisecond early by the wall clock, again and again.
        let mut timestamp = 12;
        for block in 1..=10 {
            let due = 2_000 * block;
            let slot = Slot::at(now(9_999 + due, due), timestamp, 2);
            assert_eq!(slot.due, Duration::from_millis(due + 2_000));
            timestamp = slot.timestamp;
        }
        assert_eq!(timestamp, 32, "one block time each");
    }

    #[test]
    fn after_downtime_the_block_in_progress_is_due_at_once() {
        let resumed = Slot::of(now(90_000, 700), 12, 2);
        assert_eq!(resumed, Slot { timestamp: 12, due: Duration::from_millis(700) });
        assert!(resumed.ended(now(90_000, 700)));
    }

    #[test]
    fn missed_slots_are_not_filled_in() {
        assert_eq!(Slot::at(now(90_500, 0), 12, 2).timestamp, 92);
    }
}
