//! Fees of a transaction of an OP chain besides gas.

use alloy_consensus::Transaction as _;
use alloy_primitives::U256;
use foreseal_primitives::L1Fees;
use serde::{Deserialize, Serialize};

use crate::transaction::CheckedTransaction;

/// Fees of a transaction of an OP chain besides gas, at the gas limit (wei).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct AdditionalFees {
    /// Fee for the data on L1.
    pub l1: U256,
    /// Fee of the operator.
    pub operator: U256,
}

impl AdditionalFees {
    pub(crate) fn new(fees: &L1Fees, transaction: &CheckedTransaction) -> Self {
        let gas = transaction.transaction().envelope().gas_limit();
        Self { l1: fees.data_fee(transaction.transaction()), operator: fees.operator.of_gas(gas) }
    }
}
