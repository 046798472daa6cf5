//! The rules of OP chains: deposits, the fees for L1 and for the operator, and limits of precompiled contracts.
//!
//! Sources: the OP specification, `protocol/`: deposits, exec-engine, and its pages for Fjord, Isthmus, Jovian and
//! Karst.

mod handler;
mod precompiles;
mod surcharge;

pub use foreseal_primitives::{L1_ATTRIBUTES_CONTRACT, L1Fees, OperatorFee, compressed_size, estimated_size};

pub(crate) use handler::{OptimismHandler, VAULTS};
pub(crate) use precompiles::{InputLimit, input_limits, optimism_precompiles};
pub(crate) use surcharge::Surcharge;
