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

/// Returns the timestamp of a block opened at `now` whose parent has timestamp `parent`. Timestamps and
/// `block_time` are in seconds.
pub fn timestamp(now: ClockReading, parent: u64, block_time: u64) -> u64 {
    let seconds = now.unix.as_secs();
    let slot = seconds - seconds % block_time + block_time;
    if slot < parent + block_time { parent + block_time } else { slot }
}

/// Returns the monotonic time at which a block with `timestamp` is due if it was opened, or found at a start,
/// at `now`.
pub fn due(now: ClockReading, timestamp: u64, block_time: u64) -> Duration {
    let wait = Duration::from_secs(timestamp).checked_sub(now.unix).unwrap_or(Duration::ZERO);
    now.monotonic + wait.min(Duration::from_secs(block_time))
}
