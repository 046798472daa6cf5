//! Progress of unloading the state.

/// Progress of unloading what has not changed since the oldest block in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unloading {
    /// Number of the oldest block in memory.
    pub oldest: u64,
    /// Number of portions that were unloaded since it became the oldest block.
    pub done: u8,
    /// Portion that is unloaded next.
    pub next: u8,
}
