//! Origins of pooled transactions.

/// Origin of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Submitted,
    /// From an unwound block or a saved pool. It was admitted before, so it waits if its sender cannot pay
    /// now.
    Reinjected,
}
