//! The rules of OP chains: deposits, the fees for L1 and for the operator, and limits of precompiled contracts.
//!
//! Sources: the OP specification, `protocol/`: deposits, exec-engine, and its pages for Fjord, Isthmus, Jovian and
//! Karst.

mod compressed_size;
mod handler;
mod l1_fees;
mod precompiles;
mod surcharge;

pub use compressed_size::{compressed_size, estimated_size};
pub use l1_fees::{L1_ATTRIBUTES_CONTRACT, L1Fees, OperatorFee};

pub(crate) use handler::OptimismHandler;
pub(crate) use precompiles::{InputLimit, input_limits, optimism_precompiles};
pub(crate) use surcharge::Surcharge;
