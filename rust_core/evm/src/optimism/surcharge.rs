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

impl Surcharge {
    /// The fees of a call that is not on the chain. As in op-geth, the base fee goes to its vault, and nothing is due
    /// for L1 and the operator: an unsigned request has no size on L1.
    pub const CALL: Self = Self::Fees { data: U256::ZERO, operator: OperatorFee::ZERO };
}
