//! Pre-confirmation receipts: a transaction, the step that contains it, and the sequencer's signature of that
//! step. A receipt can be verified without a node.

pub mod answer;
pub mod evidence;
pub mod invalid_receipt;
pub mod receipt;
pub mod verify;
