//! Limits of the queue of work for the store.

/// Weight of a block in the queue, on top of its transactions. An empty block changes state too, and trie
/// nodes are retained for a limited number of blocks only.
pub(crate) const BLOCK_WEIGHT: usize = 500;
/// Maximum weight of the queue, as a multiple of its limit. Beyond that, adding a job blocks.
pub(crate) const MAX_WEIGHT_FACTOR: usize = 4;

/// The same for the size in bytes, which the memory budget counts.
pub(crate) const MAX_BYTES_FACTOR: usize = 2;

/// Returns the maximum number of blocks in a queue with this limit.
pub(crate) const fn max_blocks(limit: usize) -> usize {
    limit.saturating_mul(MAX_WEIGHT_FACTOR) / BLOCK_WEIGHT + 1
}

/// Limits of the queue, above which the builder is throttled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    /// Weight of the jobs: their transactions, and [`BLOCK_WEIGHT`] for each block.
    pub weight: usize,
    /// Size of the jobs in memory, in bytes.
    pub bytes: usize,
}
