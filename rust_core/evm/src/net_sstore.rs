//! Net gas metering of SSTORE in Constantinople (EIP-1283), which revm omits.

use revm::{
    context::CfgEnv,
    context_interface::{
        Host,
        cfg::gas::{SSTORE_RESET, SSTORE_SET},
        cfg::gas_params::GasId,
    },
    interpreter::{
        InstructionContext, InstructionExecResult, InstructionResult,
        instructions::host::sstore_with_gas_accounting, interpreter::EthInterpreter,
    },
};

use crate::context::EvmContext;

/// Gas of SLOAD, and of an SSTORE that changes nothing, since EIP-150.
const SLOAD_GAS: u64 = 200;

/// Sets the prices of EIP-1283.
pub fn apply(cfg: &mut CfgEnv) {
    let (set, reset) = (SSTORE_SET - SLOAD_GAS, SSTORE_RESET - SLOAD_GAS);
    cfg.gas_params.override_gas([
        (GasId::sstore_static(), SLOAD_GAS),
        (GasId::sstore_set_without_load_cost(), set),
        (GasId::sstore_reset_without_cold_load_cost(), reset),
        (GasId::sstore_set_refund(), set),
        (GasId::sstore_reset_refund(), reset),
    ]);
}

/// Returns `true` if the rules have the prices of EIP-1283. No other fork charges 200 for each SSTORE.
pub fn is_applied(cfg: &CfgEnv) -> bool {
    cfg.gas_params.sstore_static_gas() == SLOAD_GAS
}

/// Executes SSTORE with the accounting of Istanbul, but without the minimum of remaining gas (EIP-1706).
pub fn sstore(context: InstructionContext<'_, EvmContext<'_>, EthInterpreter>) -> InstructionExecResult {
    sstore_with_gas_accounting(context, |context, _, load| {
        let gas = context.host.gas_params().sstore_dynamic_gas(true, &load.data, load.is_cold);
        if !context.interpreter.gas.record_regular_cost(gas) {
            return Err(InstructionResult::OutOfGas);
        }
        let refund = context.host.gas_params().sstore_refund(true, &load.data);
        context.interpreter.gas.record_refund(refund);
        Ok(())
    })
}
