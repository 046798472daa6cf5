//! The slot of a block: its timestamp, and the time at which it is due.

use std::time::Duration;

use foreseal_chain::ClockReading;
use foreseal_primitives::mutant;

/// Slot of the block being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSlot {
    /// Timestamp of the block, in Unix seconds.
    pub timestamp: u64,
    /// Monotonic time at which the block is due to be sealed.
    pub due: Duration,
}

impl BlockSlot {
    /// Returns the slot that contains `now`, for a child of a block with this timestamp.
    ///
    /// Slots end at multiples of the block time (in seconds) on the wall clock. A wall clock that steps back
    /// neither lowers a timestamp nor stalls production. The block after one that was sealed early still
    /// lasts a full block time. Otherwise every small step back would move timestamps another block time
    /// ahead of the clock.
    pub fn next_after(now: ClockReading, parent_timestamp: u64, block_time: u64) -> Self {
        let slot = (now.unix.as_secs() / block_time).saturating_add(1).saturating_mul(block_time);
        let min =
            if mutant!("timestamp-from-the-clock") { 0 } else { parent_timestamp.saturating_add(block_time) };
        Self::with_timestamp(now, slot.max(min), block_time)
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
}
