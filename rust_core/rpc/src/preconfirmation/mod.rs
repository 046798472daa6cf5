//! Receipts of pre-confirmations: a transaction, the step that holds it, and the sequencer's word for that step. A receipt
//! is checked without a node.

mod answer;
mod evidence;
mod receipt;
mod verify;

pub use answer::METHODS;
pub use evidence::{Contradiction, Evidence, contradiction};
pub use receipt::PreconfirmationReceipt;
pub use verify::{Misfit, MisfitError, VerifiedPreconfirmation};

/// Why a transaction on the chain has no receipt of its pre-confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsignedError {
    #[error("block {number} came from outside: nobody pre-confirmed its transactions")]
    Imported { number: u64 },
    #[error("step {index} of block {number} was made without a signature")]
    Step { number: u64, index: u64 },
}
