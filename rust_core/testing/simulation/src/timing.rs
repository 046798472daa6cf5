//! Independent implementation of the rules of block times: the timestamp of a block, and when it is
//! due.

use std::time::Duration;

use foreseal_chain::ClockReading;

/// Times that the node's behaviour is checked against.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Monotonic time of the last successful tick.
    pub ticked: Duration,
    /// Monotonic time from which a tick seals the block.
    pub due: Duration,
    /// Time passed to the last tick; `None` after a restart until the next tick.
    pub fixed: Option<ClockReading>,
}

/// Slot that a block should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedSlot {
    /// Unix seconds.
    pub timestamp: u64,
    /// Monotonic time.
    pub due: Duration,
}

/// Returns the slot of a block opened at `now` whose parent has timestamp `parent`. Timestamps and `block_time` are in
/// seconds.
pub fn slot(now: ClockReading, parent: u64, block_time: u64) -> ExpectedSlot {
    let (now_ms, parent_ms) = (now.unix.as_millis(), u128::from(parent) * 1_000);
    if parent_ms <= now_ms + 100 {
        let seconds = now.unix.as_secs();
        let timestamp = (seconds - seconds % block_time + block_time).max(parent + block_time);
        return ExpectedSlot { timestamp, due: due(now, timestamp, block_time) };
    }
    // Ahead of the clock: the end of the parent's slot, if it is at most two block times from now.
    let timestamp = parent - parent % block_time + block_time;
    let wait_ms = u128::from(timestamp) * 1_000 - now_ms;
    if wait_ms <= u128::from(block_time) * 2_000 {
        let wait = Duration::from_millis(u64::try_from(wait_ms).expect("at most two block times"));
        return ExpectedSlot { timestamp, due: now.monotonic + wait };
    }
    ExpectedSlot { timestamp: parent + 1, due: now.monotonic + Duration::from_secs(block_time.max(2)) }
}

/// Returns the monotonic time at which a block with `timestamp` is due if it was opened, or found at a start,
/// at `now`.
pub fn due(now: ClockReading, timestamp: u64, block_time: u64) -> Duration {
    let wait = Duration::from_secs(timestamp).checked_sub(now.unix).unwrap_or(Duration::ZERO);
    now.monotonic + wait.min(Duration::from_secs(block_time))
}
