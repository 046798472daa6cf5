//! The additions of an OP chain to the execution of one transaction.

use alloy_primitives::U256;

use super::OperatorFee;

/// The additions of an OP chain to the execution of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surcharge {
    /// The transaction is a deposit, which pays nothing.
    Deposit {
        /// Wei that the sender receives before the execution, even if it fails.
        mint: u128,
    },
    /// The transaction pays fees besides gas.
    Fees {
        /// Wei for the data on L1.
        data: U256,
        operator: OperatorFee,
    },
}
