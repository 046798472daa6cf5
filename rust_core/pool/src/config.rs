//! Settings of the pool.

/// Number of senders whose transactions fill the pool.
const SENDER_SHARE: usize = 16;
/// Memory of a transaction in multiples of its encoding, at most: that of an access list without slots is the largest.
const LARGEST_IN_MEMORY: usize = 6;

/// Limits of the pool. Each one is a setting of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Maximum number of transactions in the pool, executable or not.
    pub max_transactions: usize,
    /// Maximum size of the pool in memory in bytes, with sidecars.
    pub max_bytes: usize,
    /// Maximum number of transactions of one sender. `max_sender_bytes` bounds their size.
    pub max_per_sender: usize,
    /// Minimum tip of a submission (wei per gas): `maxPriorityFeePerGas`, or the gas price without EIP-1559 fees.
    pub min_tip: u128,
    /// Maximum gas limit of a submission in addition to that of the fork; `None` adds none.
    pub max_gas: Option<u64>,
    /// Maximum size of a submission without blobs (bytes).
    pub max_transaction_bytes: usize,
    /// Maximum size of a blob transaction with its sidecar (bytes).
    pub max_blob_transaction_bytes: usize,
    /// Maximum number of dropped or replaced transactions whose reason is retained.
    pub max_dropped_history: usize,
    /// Maximum number of recent arrivals whose hash is retained.
    pub max_pending_log: usize,
    /// Maximum size of the complete recent arrivals (bytes). They are retained only on request
    /// ([`Pool::set_full_transactions`](crate::Pool::set_full_transactions)).
    pub max_pending_log_bytes: usize,
}

impl PoolConfig {
    /// Returns the maximum size of the transactions of one sender in memory (bytes): a sixteenth of the pool, and
    /// always enough for the largest transaction.
    pub(crate) fn max_sender_bytes(&self) -> usize {
        let largest = self.max_blob_transaction_bytes.max(self.max_transaction_bytes);
        (self.max_bytes / SENDER_SHARE).max(LARGEST_IN_MEMORY * largest)
    }
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            max_transactions: 200_000,
            max_bytes: 128 << 20,
            max_per_sender: 4_096,
            min_tip: 0,
            max_gas: None,
            max_transaction_bytes: 128 << 10,
            max_blob_transaction_bytes: 1 << 20,
            max_dropped_history: 65_536,
            max_pending_log: 1 << 18,
            max_pending_log_bytes: 64 << 20,
        }
    }
}
