//! Highest cost of a transaction to its sender, which on an OP chain includes the fees for L1 and for the operator.

use alloy_consensus::Transaction as _;
use alloy_primitives::U256;
use foreseal_primitives::{DATA_FEE_SCALE, L1Fees};

use crate::{additional_fees::AdditionalFees, error::PoolError, transaction::CheckedTransaction};

/// Parameters of costs. They change with the L1 attributes of an OP chain; any other chain has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CostRules {
    pub l1: Option<L1Fees>,
}

impl CostRules {
    /// Returns the highest cost in wei.
    pub fn cost(&self, transaction: &CheckedTransaction) -> U256 {
        let Some(fees) = &self.l1 else { return transaction.cost() };
        let AdditionalFees { l1, operator } = AdditionalFees::new(fees, transaction);
        transaction.cost().saturating_add(l1).saturating_add(operator)
    }

    /// Checks that the footprint of the data fits into a block (Jovian).
    pub fn check_footprint(&self, transaction: &CheckedTransaction, gas_limit: u64) -> Result<(), PoolError> {
        let have = self.l1.map_or(0, |fees| fees.footprint(transaction.transaction()));
        if have > gas_limit { Err(PoolError::Footprint { have, limit: gas_limit }) } else { Ok(()) }
    }

    /// Checks that the balance covers the highest cost.
    pub fn check(&self, transaction: &CheckedTransaction, balance: U256) -> Result<(), PoolError> {
        let cost = self.cost(transaction);
        if cost <= balance {
            return Ok(());
        }
        Err(match &self.l1 {
            None => PoolError::InsufficientFunds { balance, cost },
            Some(fees) => {
                let fees = Box::new(AdditionalFees::new(fees, transaction));
                PoolError::InsufficientFundsForFees { balance, cost, fees }
            }
        })
    }
}

/// Prices of data on L1, at most one of which is current, for which the count of executable transactions of a sender
/// is right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PriceRange {
    low: U256,
    high: U256,
}

impl Default for PriceRange {
    fn default() -> Self {
        Self { low: U256::ZERO, high: U256::MAX }
    }
}

impl PriceRange {
    pub fn contains(&self, price: U256) -> bool {
        (self.low..=self.high).contains(&price)
    }

    /// Begins to evaluate the transactions that follow those executable so far.
    pub fn begin(&mut self) {
        self.low = U256::ZERO;
    }

    /// Returns `true` if the balance covers a transaction, and narrows the range to the prices with the same result.
    pub fn covers(&mut self, rules: &CostRules, transaction: &CheckedTransaction, balance: U256) -> bool {
        let Some(fees) = &rules.l1 else { return transaction.cost() <= balance };
        let highest = highest_price(fees, transaction, balance);
        let is_covered = highest.is_some_and(|highest| fees.data_price() <= highest);
        if is_covered {
            self.high = self.high.min(highest.unwrap_or_default());
        } else {
            self.low = highest.map_or(U256::ZERO, |highest| highest.saturating_add(U256::from(1)));
        }
        is_covered
    }
}

/// Returns the highest price of data at which the balance covers a transaction; `None` if none is low enough.
fn highest_price(fees: &L1Fees, transaction: &CheckedTransaction, balance: U256) -> Option<U256> {
    let operator = fees.operator.of_gas(transaction.transaction().envelope().gas_limit());
    let left = balance.checked_sub(transaction.cost().saturating_add(operator))?;
    let size = U256::from(transaction.transaction().data_size());
    // The fee is rounded down: it exceeds `left` from `left + 1` on.
    let exceeding = left.saturating_add(U256::from(1)).saturating_mul(U256::from(DATA_FEE_SCALE));
    Some((exceeding - U256::from(1)) / size)
}
