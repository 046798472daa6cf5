//! Pre-confirmation receipts: a transaction, the step that contains it, and the sequencer's signature of that
//! step. A receipt can be verified without a node.

mod answer;
mod evidence;
mod invalid_receipt;
mod receipt;
mod verify;

pub use answer::METHODS;
pub use evidence::{Contradiction, Evidence, contradiction};
pub use invalid_receipt::{InvalidReceipt, InvalidReceiptError};
pub use receipt::PreconfirmationReceipt;
pub use verify::VerifiedPreconfirmation;

/// Reason for which a transaction on the chain has no pre-confirmation receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsignedError {
    #[error("block {number} was imported: its transactions were not pre-confirmed")]
    Imported { number: u64 },
    #[error("step {index} of block {number} was made without a signature")]
    Step { number: u64, index: u64 },
}
