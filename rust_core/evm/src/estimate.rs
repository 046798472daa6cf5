//! Estimate of the lowest gas limit with which a request succeeds.

use alloy_primitives::{Bytes, U256};
use foreseal_primitives::{SpecId, TRANSACTION_GAS_CAP};
use revm::context_interface::result::{ExecutionResult, HaltReason};

use crate::{
    call::{CallLimits, CallRequest, Simulation},
    environment::Environment,
    error::{ExecutionError, RejectedTransaction},
};

/// Gas of a transfer to an account without code.
const TRANSFER_GAS: u64 = 21_000;
/// Gas that a call with value passes on in addition (yellow paper, `G_callstipend`).
const CALL_STIPEND: u64 = 2_300;

/// Reasons why no estimate exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EstimateError {
    #[error("execution reverted")]
    Revert { output: Bytes },
    /// The request halts with all the gas it may use, for a reason other than out of gas.
    #[error("execution halted: {reason}")]
    Halt { reason: HaltReason, gas: u64 },
    /// The request needs more gas than it may use or its sender can pay for.
    #[error("gas required exceeds allowance ({allowance})")]
    GasExceedsAllowance { allowance: u64 },
    /// The request needs more gas than the server allows for one request.
    #[error("gas required exceeds the limit of {cap} for one request")]
    GasCap { cap: u64 },
    /// The sender cannot pay the value and the blobs. Amounts in wei.
    #[error("insufficient funds for gas * price + value")]
    InsufficientFunds { have: U256, needed: U256 },
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}

/// Returns a gas limit with which `request` runs as with the highest possible limit, at most 1.5 % above the
/// lowest such limit. Returns exactly 21,000 for a transfer to an account without code.
///
/// Success alone is not enough: a contract may continue after a call that ran out of gas, and the request would
/// then succeed without the effects of this call. So a limit suffices only if no more calls fail than with the
/// highest limit. It is also at least the gas spent with that limit, before refunds, because a contract that checks
/// its gas may do less with less. `geth` starts its search at the gas used, but accepts any limit above it with which
/// the request succeeds.
///
/// The limit is bounded by the request's own gas, that of `limits`, the block's gas limit and the fork's cap
/// per transaction (EIP-7825). With a fee, the sender's balance bounds it too. It does not depend on the gas
/// already used in the block.
pub fn estimate(
    environment: &Environment<'_>,
    request: &CallRequest,
    limits: CallLimits,
) -> Result<u64, EstimateError> {
    let mut simulation = Simulation::new(environment, request)?;
    simulation.set_deadline(limits.deadline);
    let limit = allowance(&mut simulation, environment.header.gas_limit, request)?;
    let too_little = if limits.gas < limit {
        EstimateError::GasCap { cap: limits.gas }
    } else {
        EstimateError::GasExceedsAllowance { allowance: limit }
    };
    let limit = limit.min(limits.gas);
    if is_transfer(&mut simulation, request)?
        && limit >= TRANSFER_GAS
        && simulation.run(TRANSFER_GAS)?.is_success()
    {
        return Ok(TRANSFER_GAS);
    }
    let result = match simulation.run(limit) {
        Err(ExecutionError::Rejected(RejectedTransaction::IntrinsicGas { .. })) => {
            return Err(too_little);
        }
        other => other?,
    };
    match result {
        ExecutionResult::Success { gas, .. } => {
            // Gas before the refund, including the floor of EIP-7623.
            let spent = gas.total_gas_spent().max(gas.floor_gas());
            let max_failures = simulation.failed_calls();
            Ok(search(spent, limit, |gas| suffices(&mut simulation, gas, max_failures))?)
        }
        ExecutionResult::Revert { output, .. } => Err(EstimateError::Revert { output }),
        ExecutionResult::Halt { reason: HaltReason::OutOfGas(_), .. } => Err(too_little),
        ExecutionResult::Halt { reason, gas, .. } => {
            Err(EstimateError::Halt { reason, gas: gas.tx_gas_used() })
        }
    }
}

/// Returns the maximum gas that the request may use, independent of the server's limits.
fn allowance(
    simulation: &mut Simulation<'_>,
    block_gas: u64,
    request: &CallRequest,
) -> Result<u64, EstimateError> {
    let mut limit = block_gas;
    if simulation.fork().is_enabled_in(SpecId::OSAKA) {
        limit = limit.min(TRANSACTION_GAS_CAP);
    }
    // Some clients send less than the cost of any transaction to mean "no limit".
    if let Some(gas) = request.gas.filter(|gas| *gas >= TRANSFER_GAS) {
        limit = limit.min(gas);
    }
    let have = simulation.account(request.sender())?.balance;
    let needed = request.value.saturating_add(simulation.blob_cost());
    let Some(left) = have.checked_sub(needed) else {
        return Err(EstimateError::InsufficientFunds { have, needed });
    };
    if let Some(affordable) = left.checked_div(U256::from(request.fee_cap())) {
        limit = u64::try_from(affordable).map_or(limit, |gas| gas.min(limit));
    }
    Ok(limit)
}

fn is_transfer(simulation: &mut Simulation<'_>, request: &CallRequest) -> Result<bool, ExecutionError> {
    let Some(to) = request.to else { return Ok(false) };
    let plain =
        request.input.is_empty() && request.access_list.is_empty() && request.authorizations.is_empty();
    Ok(plain && simulation.account(to)?.code_hash == alloy_primitives::KECCAK256_EMPTY)
}

/// Returns `true` if the request succeeds with this gas, and at most `max_failures` calls inside fail. Any failure
/// counts as too little gas: with more, it did not occur.
fn suffices(simulation: &mut Simulation<'_>, gas: u64, max_failures: u64) -> Result<bool, ExecutionError> {
    match simulation.run(gas) {
        Ok(result) => Ok(result.is_success() && simulation.failed_calls() <= max_failures),
        Err(ExecutionError::Rejected(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Narrows the lowest sufficient limit to (`low`, `high`] until they differ by at most 1.5 % of `low`. A run
/// with `limit` sufficed and spent `spent`.
fn search(
    spent: u64,
    limit: u64,
    mut suffices: impl FnMut(u64) -> Result<bool, ExecutionError>,
) -> Result<u64, ExecutionError> {
    let mut low = spent.max(TRANSFER_GAS) - 1;
    let mut high = limit;
    // Most requests need exactly the gas they spent. A request that calls needs more, because a call passes
    // on only 63/64 of the gas (EIP-150).
    let spare = spent.saturating_add(CALL_STIPEND);
    for guess in [spent, spare.saturating_add(spare / 63 + 1)] {
        if low < guess && guess < high && !close(low, high) {
            if suffices(guess)? {
                high = guess;
            } else {
                low = guess;
            }
        }
    }
    while !close(low, high) {
        // The result is near the low end far more often than in the middle.
        let middle = (low + (high - low) / 2).min(low.saturating_mul(2)).max(low + 1);
        if suffices(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

fn close(low: u64, high: u64) -> bool {
    let gap = u128::from(high.saturating_sub(low));
    gap <= 1 || gap * 1000 <= u128::from(low) * 15
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the estimate if all limits from `low` on suffice, and the number of runs of the search.
    fn run(spent: u64, limit: u64, low: u64) -> (u64, u32) {
        let mut runs = 0;
        let estimate = search(spent, limit, |gas| {
            runs += 1;
            Ok(gas >= low)
        });
        (estimate.unwrap(), runs)
    }

    #[test]
    fn usual_estimates_need_few_runs() {
        // The same holds with a refund: it comes after the gas spent.
        assert_eq!(run(51_000, 30_000_000, 51_000), (51_000, 1));
        // A call passes on 63/64 of the gas.
        let (estimate, runs) = run(500_000, 30_000_000, 507_000);
        assert!((507_000..=514_605).contains(&estimate) && runs <= 3, "{estimate} in {runs} runs");
    }

    proptest! {
        #[test]
        fn an_estimate_finds_any_gas_threshold(spent in 21_000u64..30_000_000, least in 21_000u64..30_000_000) {
            let (estimate, runs) = run(spent, 30_000_000, least);
            let least = least.max(spent);
            prop_assert!(estimate >= least);
            prop_assert!(u128::from(estimate) * 1000 <= u128::from(least) * 1015);
            prop_assert!(runs <= 25, "{runs} runs");
        }
    }
}
