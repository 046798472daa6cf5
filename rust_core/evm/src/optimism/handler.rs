//! revm's handler with the rules of OP chains (OP specification, deposits and exec-engine).

use std::marker::PhantomData;

use alloy_primitives::{Address, U256, address};
use revm::{
    context::{Block, ContextTr, JournalTr, Transaction, journaled_state::account::JournaledAccountTr},
    context_interface::result::{ExecutionResult, HaltReason, InvalidTransaction, OutOfGasError, ResultGas},
    handler::{
        EvmTr, EvmTrError, FrameResult, Handler, MainnetHandler,
        post_execution::reimburse_caller,
        pre_execution::{calculate_caller_fee, validate_account_nonce_and_code_with_components},
    },
    interpreter::{GasTracker, InitialAndFloorGas, InstructionResult},
    primitives::eip3860::MAX_INITCODE_SIZE,
};

use super::surcharge::Surcharge;
use crate::context::{EvmContext, EvmError, Frame};

/// Receives the base fee, which other chains burn.
const BASE_FEE_VAULT: Address = address!("4200000000000000000000000000000000000019");
/// Receives the fee for data on L1.
const DATA_FEE_VAULT: Address = address!("420000000000000000000000000000000000001a");
/// Receives the operator fee.
const OPERATOR_FEE_VAULT: Address = address!("420000000000000000000000000000000000001b");

/// Accounts that a signed transaction pays besides the fee recipient of the block.
pub(crate) const VAULTS: [Address; 3] = [BASE_FEE_VAULT, DATA_FEE_VAULT, OPERATOR_FEE_VAULT];

/// The handler of one transaction of an OP chain.
pub(crate) struct OptimismHandler<'a, E> {
    surcharge: Surcharge,
    mainnet: MainnetHandler<E, EvmError, Frame>,
    context: PhantomData<EvmContext<'a>>,
}

impl<'a, E: EvmTr<Context = EvmContext<'a>, Frame = Frame>> OptimismHandler<'a, E> {
    pub fn new(surcharge: Surcharge) -> Self {
        Self { surcharge, mainnet: MainnetHandler::default(), context: PhantomData }
    }

    /// Includes a deposit that cannot begin: it keeps its mint, counts its sender's nonce and takes all its gas.
    fn include_unexecuted(evm: &mut E, mint: u128) -> Result<ExecutionResult, EvmError> {
        let context = evm.ctx();
        let (sender, gas_limit) = (context.tx().caller(), context.tx().gas_limit());
        let journal = context.journal_mut();
        {
            let mut account = journal.load_account_mut(sender)?;
            account.bump_nonce();
            account.incr_balance(U256::from(mint));
        }
        journal.commit_tx();
        let gas = ResultGas::default().with_total_gas_spent(gas_limit);
        let reason = HaltReason::OutOfGas(OutOfGasError::Basic);
        Ok(ExecutionResult::Halt { reason, gas, logs: Vec::new() })
    }

    /// Counts the nonce of a deposit that creates a contract and halts before its first step, where revm does not.
    fn count_nonce(evm: &mut E) -> Result<(), EvmError> {
        let context = evm.ctx();
        let (sender, nonce) = (context.tx().caller(), context.tx().nonce());
        let mut account = context.journal_mut().load_account_mut(sender)?;
        if account.account().info.nonce == nonce {
            account.bump_nonce();
        }
        Ok(())
    }
}

impl<'a, E: EvmTr<Context = EvmContext<'a>, Frame = Frame>> Handler for OptimismHandler<'a, E>
where
    MainnetHandler<E, EvmError, Frame>: Handler<Evm = E, Error = EvmError, HaltReason = HaltReason>,
    EvmError: EvmTrError<E>,
{
    type Evm = E;
    type Error = EvmError;
    type HaltReason = HaltReason;

    fn validate_env(&self, evm: &mut Self::Evm) -> Result<(), EvmError> {
        match self.surcharge {
            // L1 has checked all but the size of initialization code (EIP-3860).
            Surcharge::Deposit { .. } => {
                let tx = evm.ctx_ref().tx();
                if tx.kind().is_create() && tx.input().len() > MAX_INITCODE_SIZE {
                    return Err(InvalidTransaction::CreateInitCodeSizeLimit.into());
                }
                Ok(())
            }
            Surcharge::Fees { .. } => self.mainnet.validate_env(evm),
        }
    }

    fn tx_gas(&self, evm: &mut Self::Evm, initial: &InitialAndFloorGas) -> GasTracker {
        match self.surcharge {
            // The cap per transaction (EIP-7825) does not apply to deposits.
            Surcharge::Deposit { .. } => {
                let limit = evm.ctx_ref().tx().gas_limit();
                let (remaining, reservoir) = initial.initial_gas_and_reservoir(limit, u64::MAX);
                GasTracker::new(limit, remaining, reservoir)
            }
            Surcharge::Fees { .. } => self.mainnet.tx_gas(evm, initial),
        }
    }

    fn validate_against_state_and_deduct_caller(
        &self,
        evm: &mut Self::Evm,
        _: &mut InitialAndFloorGas,
    ) -> Result<(), EvmError> {
        let (block, tx, cfg, journal, ..) = evm.ctx().all_mut();
        let mut caller = journal.load_account_with_code_mut(tx.caller())?.data;
        let balance = *caller.balance();
        let left = match self.surcharge {
            Surcharge::Deposit { mint } => balance.saturating_add(U256::from(mint)),
            Surcharge::Fees { data, operator } => {
                validate_account_nonce_and_code_with_components(&caller.account().info, tx, cfg)?;
                let fees = data.saturating_add(operator.of_gas(tx.gas_limit()));
                let needed = tx.max_balance_spending()?.saturating_add(fees);
                if balance < needed {
                    return Err(InvalidTransaction::LackOfFundForMaxFee {
                        fee: Box::new(needed),
                        balance: Box::new(balance),
                    }
                    .into());
                }
                calculate_caller_fee(balance - fees, tx, block, cfg)?
            }
        };
        caller.set_balance(left);
        if tx.kind().is_call() {
            caller.bump_nonce();
        }
        Ok(())
    }

    fn reimburse_caller(&self, evm: &mut Self::Evm, result: &mut FrameResult) -> Result<(), EvmError> {
        let unused = match self.surcharge {
            Surcharge::Deposit { .. } => return Ok(()),
            Surcharge::Fees { operator, .. } => {
                let gas = result.gas();
                operator.of_gas(gas.limit()) - operator.of_gas(gas.used())
            }
        };
        Ok(reimburse_caller(evm.ctx(), result.gas(), unused)?)
    }

    fn reward_beneficiary(&self, evm: &mut Self::Evm, result: &mut FrameResult) -> Result<(), EvmError> {
        let Surcharge::Fees { data, operator } = self.surcharge else { return Ok(()) };
        self.mainnet.reward_beneficiary(evm, result)?;
        let used = result.gas().used();
        let (block, _, _, journal, ..) = evm.ctx().all_mut();
        let base_fee = U256::from(block.basefee()) * U256::from(used);
        for (vault, amount) in
            [(BASE_FEE_VAULT, base_fee), (DATA_FEE_VAULT, data), (OPERATOR_FEE_VAULT, operator.of_gas(used))]
        {
            if !amount.is_zero() {
                journal.load_account_mut(vault)?.incr_balance(amount);
            }
        }
        Ok(())
    }

    fn execution_result(
        &mut self,
        evm: &mut Self::Evm,
        result: FrameResult,
        gas: ResultGas,
    ) -> Result<ExecutionResult, EvmError> {
        let is_deposit = matches!(self.surcharge, Surcharge::Deposit { .. });
        // revm counts a call without funds as reverted, with its gas returned.
        let has_halted =
            !result.instruction_result().is_ok() && result.instruction_result() != InstructionResult::Revert;
        if !is_deposit || !has_halted {
            return self.mainnet.execution_result(evm, result, gas);
        }
        Self::count_nonce(evm)?;
        let gas = ResultGas::default().with_total_gas_spent(evm.ctx().tx().gas_limit());
        self.mainnet.execution_result(evm, result, gas)
    }

    fn catch_error(&self, evm: &mut Self::Evm, error: EvmError) -> Result<ExecutionResult, EvmError> {
        let ended = self.mainnet.catch_error(evm, error);
        match (self.surcharge, ended) {
            (Surcharge::Deposit { mint }, Err(EvmError::Transaction(_))) => {
                Self::include_unexecuted(evm, mint)
            }
            (_, ended) => ended,
        }
    }
}
