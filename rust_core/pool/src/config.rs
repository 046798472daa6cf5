//! Settings.

/// Limits of the pool. Every one is a setting of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Most transactions held, executable or not.
    pub max_transactions: usize,
    /// Most bytes held: EIP-2718 encodings with their sidecars.
    pub max_bytes: usize,
    /// Most transactions held for one sender.
    pub max_per_sender: usize,
    /// Largest submission without blobs (bytes).
    pub max_transaction_bytes: usize,
    /// Largest blob transaction with its sidecar (bytes).
    pub max_blob_transaction_bytes: usize,
    /// How many departed transactions are remembered with the reason.
    pub max_departed: usize,
    /// How many of the transactions that entered last are remembered by their hash.
    pub max_arrivals: usize,
    /// Bytes of them that are kept whole while somebody wants that.
    pub max_arrival_bytes: usize,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            max_transactions: 200_000,
            max_bytes: 256 << 20,
            max_per_sender: 4_096,
            max_transaction_bytes: 128 << 10,
            max_blob_transaction_bytes: 1 << 20,
            max_departed: 65_536,
            max_arrivals: 1 << 18,
            max_arrival_bytes: 64 << 20,
        }
    }
}
