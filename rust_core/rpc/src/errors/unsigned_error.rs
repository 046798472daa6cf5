//! Error of a transaction without a pre-confirmation receipt.

/// Reason for which a transaction on the chain has no pre-confirmation receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsignedError {
    #[error("block {number} was imported: its transactions were not pre-confirmed")]
    Imported { number: u64 },
    #[error("step {index} of block {number} was made without a signature")]
    Step { number: u64, index: u64 },
}
