//! What durability.md says of time, written down once more: which timestamp a block has, and when it is due.

use std::time::Duration;

use foreseal_node::Now;

/// What time must have done to the chain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Monotonic time of the last tick that was done.
    pub ticked: Duration,
    /// Monotonic time from which on a tick seals.
    pub due: Duration,
    /// What the last tick was given.
    pub given: Option<Now>,
}

/// The timestamp of a block that is opened at `now` behind one with timestamp `parent`.
pub fn timestamp(now: Now, parent: u64, block_time: u64) -> u64 {
    let seconds = now.unix.as_secs();
    let slot = seconds - seconds % block_time + block_time;
    if slot < parent + block_time { parent + block_time } else { slot }
}

/// When such a block is due, if it was opened or found at `now`.
pub fn due(now: Now, timestamp: u64, block_time: u64) -> Duration {
    let wait = Duration::from_secs(timestamp).checked_sub(now.unix).unwrap_or(Duration::ZERO);
    now.monotonic + wait.min(Duration::from_secs(block_time))
}
