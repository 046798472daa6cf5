//! Settings of the pool.

/// Limits of the pool. Each one is a setting of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Maximum number of transactions in the pool, executable or not.
    pub max_transactions: usize,
    /// Maximum size of the pool in bytes: EIP-2718 encodings with their sidecars.
    pub max_bytes: usize,
    /// Maximum number of transactions of one sender.
    pub max_per_sender: usize,
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

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            max_transactions: 200_000,
            max_bytes: 256 << 20,
            max_per_sender: 4_096,
            max_transaction_bytes: 128 << 10,
            max_blob_transaction_bytes: 1 << 20,
            max_dropped_history: 65_536,
            max_pending_log: 1 << 18,
            max_pending_log_bytes: 64 << 20,
        }
    }
}
