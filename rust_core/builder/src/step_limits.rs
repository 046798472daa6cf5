//! Limits of one step.

use std::time::Duration;

/// Part of a block that its steps may use so far.
///
/// A full block keeps room for the transactions that arrive while it is built: its gas, blob gas and bytes become
/// available with the time that passes. The last step may use everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShare {
    /// Microseconds of the block up to the next step.
    elapsed: u64,
    /// Microseconds of one step.
    step: u64,
    /// Microseconds of the block; at least 1.
    block: u64,
}

impl BlockShare {
    /// The whole block in one step.
    pub const ALL: Self = Self { elapsed: 1, step: 1, block: 1 };

    /// Returns the share of a step that is made `left` before the block is due.
    pub fn for_step(left: Duration, step: Duration, block: Duration) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (left, step, block) = (micros(left), micros(step), micros(block));
        // No other step follows before the block is sealed.
        if left <= step || block <= step {
            return Self::ALL;
        }
        Self { elapsed: block.saturating_sub(left).saturating_add(step).min(block), step, block }
    }

    /// Returns the part of a limit that all steps up to this one may use.
    pub(crate) fn so_far(self, limit: u64) -> u64 {
        scaled(limit, self.elapsed, self.block)
    }

    /// Returns the part of a limit that one step brings.
    pub(crate) fn one_step(self, limit: u64) -> u64 {
        scaled(limit, self.step, self.block)
    }
}

fn scaled(limit: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(limit) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX).min(limit)
}

/// Limits of one step, besides those of its block. They decide when a transaction is included, never its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLimits {
    pub share: BlockShare,
    /// Maximum size of the step's transactions and receipts as JSON, in bytes, unless a single transaction exceeds it.
    pub result_bytes: usize,
    /// Time after which the execution of one transaction is stopped; `None` for no limit.
    pub transaction_time: Option<Duration>,
}

impl StepLimits {
    /// Default of [`Self::result_bytes`]: some 5,000 transfers, or nearly what 2^24 gas buys in logs.
    pub const RESULT_BYTES: usize = 16 << 20;
    /// Gas up to which a transaction is short. After a stopped one, a step executes only short ones: the time that
    /// stopped executions take has a limit, and a payment is not delayed by the next unknown contract.
    pub const SHORT_GAS: u64 = 1 << 20;
}

impl Default for StepLimits {
    /// Returns the limits of a step that may fill the block.
    fn default() -> Self {
        Self { share: BlockShare::ALL, result_bytes: usize::MAX, transaction_time: None }
    }
}
