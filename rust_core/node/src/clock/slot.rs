//! The slot of a block: its timestamp, and the time at which it is due.

use std::time::Duration;

use foreseal_chain::ClockReading;

/// Slot of the block being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSlot {
    /// Timestamp of the block, in Unix seconds.
    pub timestamp: u64,
    /// Monotonic time at which the block is due to be sealed.
    pub due: Duration,
}

/// Lead of a timestamp over the clock that counts as none: a block may be sealed a little early.
const MAX_JITTER: Duration = Duration::from_millis(100);
/// Minimum time between blocks while a lead is worked off, in seconds: their timestamps grow by 1.
const MIN_CATCH_UP_TIME: u64 = 2;

impl BlockSlot {
    /// Returns the slot that contains `now`, for a child of a block with this timestamp.
    ///
    /// Slots end at multiples of the block time (in seconds) on the wall clock. A wall clock that steps back
    /// neither lowers a timestamp nor stalls production. The block after one that was sealed early still
    /// lasts a full block time. Otherwise every small step back would move timestamps another block time
    /// ahead of the clock.
    pub fn next_after(now: ClockReading, parent_timestamp: u64, block_time: u64) -> Self {
        let slot = (now.unix.as_secs() / block_time).saturating_add(1).saturating_mul(block_time);
        let min = parent_timestamp.saturating_add(block_time);
        Self::with_timestamp(now, slot.max(min), block_time)
    }

    /// Returns the slot of a child like [`Self::next_after`], and works off the lead of its parent over the clock:
    /// timestamps grow by at least 1 s and by less than the time that passes, until they agree with the clock.
    ///
    /// While the lead is large, blocks come at the usual pace, but not faster than every 2 s, and each timestamp grows
    /// by 1 s. Then a single block of at most two block times ends with its slot on the clock.
    pub fn catching_up_after(now: ClockReading, parent_timestamp: u64, block_time: u64) -> Self {
        if lead(now, parent_timestamp) <= MAX_JITTER {
            return Self::next_after(now, parent_timestamp, block_time);
        }
        let slot = (parent_timestamp / block_time).saturating_add(1).saturating_mul(block_time);
        let wait = Duration::from_secs(slot).saturating_sub(now.unix);
        if wait <= Duration::from_secs(block_time.saturating_mul(2)) {
            return Self { timestamp: slot, due: now.monotonic + wait };
        }
        let pause = Duration::from_secs(block_time.max(MIN_CATCH_UP_TIME));
        Self { timestamp: parent_timestamp.saturating_add(1), due: now.monotonic + pause }
    }

    /// Returns the slot of a block with this timestamp, whether new or found in progress after a restart. The
    /// block is due at its timestamp, at once if that is past, and at most one block time from now.
    pub fn with_timestamp(now: ClockReading, timestamp: u64, block_time: u64) -> Self {
        let wait = Duration::from_secs(timestamp).saturating_sub(now.unix);
        Self { timestamp, due: now.monotonic + wait.min(Duration::from_secs(block_time)) }
    }

    /// Returns `true` if the block is due.
    pub fn ended(&self, now: ClockReading) -> bool {
        now.monotonic >= self.due
    }
}

/// Returns the time by which a timestamp is ahead of the clock.
pub(crate) fn lead(now: ClockReading, timestamp: u64) -> Duration {
    Duration::from_secs(timestamp).saturating_sub(now.unix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(unix_ms: u64, monotonic_ms: u64) -> ClockReading {
        ClockReading { unix: Duration::from_millis(unix_ms), monotonic: Duration::from_millis(monotonic_ms) }
    }

    #[test]
    fn a_slot_has_the_timestamp_of_its_end() {
        let slot = BlockSlot::next_after(now(10_700, 500), 8, 2);
        assert_eq!(slot.timestamp, 12);
        assert_eq!(slot.due, Duration::from_millis(1_800));
        assert!(!slot.ended(now(11_999, 1_799)) && slot.ended(now(12_000, 1_800)));
    }

    #[test]
    fn the_next_slot_begins_when_a_slot_ends() {
        assert_eq!(BlockSlot::next_after(now(12_000, 0), 12, 2).timestamp, 14);
    }

    #[test]
    fn a_backward_clock_never_lowers_a_timestamp_or_stalls() {
        let slot = BlockSlot::next_after(now(5_000, 0), 1_000, 2);
        assert_eq!(slot.timestamp, 1_002);
        assert_eq!(slot.due, Duration::from_secs(2));
        let resumed = BlockSlot::with_timestamp(now(5_000, 0), 1_002, 2);
        assert_eq!(resumed.due, Duration::from_secs(2));
    }

    #[test]
    fn a_slightly_backward_clock_shortens_no_block() {
        // Each iteration seals the block a millisecond before its slot ends on the wall clock.
        let mut timestamp = 12;
        for block in 1..=10 {
            let due = 2_000 * block;
            let slot = BlockSlot::next_after(now(9_999 + due, due), timestamp, 2);
            assert_eq!(slot.due, Duration::from_millis(due + 2_000));
            timestamp = slot.timestamp;
        }
        assert_eq!(timestamp, 32, "one block time each");
    }

    #[test]
    fn after_downtime_the_block_in_progress_is_due_at_once() {
        let resumed = BlockSlot::with_timestamp(now(90_000, 700), 12, 2);
        assert_eq!(resumed, BlockSlot { timestamp: 12, due: Duration::from_millis(700) });
        assert!(resumed.ended(now(90_000, 700)));
    }

    #[test]
    fn missed_slots_are_not_filled_in() {
        assert_eq!(BlockSlot::next_after(now(90_500, 0), 12, 2).timestamp, 92);
    }

    /// Seals blocks from `now` on until the chain agrees with the clock. Returns the slots and the time of the end.
    fn catch_up(mut now: ClockReading, parent: u64, block_time: u64) -> (Vec<BlockSlot>, ClockReading) {
        let (mut timestamp, mut slots) = (parent, Vec::new());
        while lead(now, timestamp) > MAX_JITTER {
            let slot = BlockSlot::catching_up_after(now, timestamp, block_time);
            let passed = slot.due.saturating_sub(now.monotonic);
            let grown = Duration::from_secs(slot.timestamp - timestamp);
            assert!(
                grown >= Duration::from_secs(1) && grown < passed,
                "{slot:?} after {timestamp} at {now:?}"
            );
            assert!(passed <= Duration::from_secs(block_time * 2), "{slot:?} after {timestamp} at {now:?}");
            now = ClockReading { unix: now.unix + passed, monotonic: slot.due };
            timestamp = slot.timestamp;
            slots.push(slot);
            assert!(slots.len() < 10_000, "the lead does not end");
        }
        (slots, now)
    }

    #[test]
    fn lead_is_worked_off_and_ends_with_a_slot() {
        for block_time in [1, 2, 3, 12] {
            for lead_ms in [101, 500, 999, 1_000, 1_700, 2_000, 13_400, 30_000, 3_600_000] {
                let parent = 1_200_000;
                let start = now(parent * 1_000 - lead_ms, 7);
                let (slots, end) = catch_up(start, parent, block_time);
                let last = slots.last().unwrap();
                assert_eq!(lead(end, last.timestamp), Duration::ZERO);
                assert_eq!(end.unix, Duration::from_secs(last.timestamp), "sealed at its timestamp");
                assert_eq!(last.timestamp % block_time, 0);
                let next = BlockSlot::catching_up_after(end, last.timestamp, block_time);
                assert_eq!(next, BlockSlot::next_after(end, last.timestamp, block_time));
            }
        }
    }

    #[test]
    fn lead_of_half_a_minute_is_gone_in_two_with_any_short_block_time() {
        for block_time in [1, 2] {
            let start = now(1_000_000, 0);
            let (_, end) = catch_up(start, 1_030, block_time);
            assert!(
                end.unix.saturating_sub(start.unix)
                    <= Duration::from_mins(1) + Duration::from_secs(2 * block_time)
            );
        }
    }

    #[test]
    fn timestamp_off_the_slots_returns_to_them() {
        let (slots, _) = catch_up(now(1_000_000, 0), 1_007, 12);
        assert_eq!(slots, [BlockSlot { timestamp: 1_008, due: Duration::from_secs(8) }]);
    }

    #[test]
    fn chain_that_is_not_ahead_keeps_its_slots() {
        for ahead_ms in [0, 1, 100] {
            let early = now(12_000 - ahead_ms, 500);
            assert_eq!(BlockSlot::catching_up_after(early, 12, 2), BlockSlot::next_after(early, 12, 2));
        }
        let late = now(90_500, 0);
        assert_eq!(BlockSlot::catching_up_after(late, 12, 2), BlockSlot::next_after(late, 12, 2));
    }
}
