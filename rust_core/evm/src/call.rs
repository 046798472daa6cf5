//! Execution without state changes, for `eth_call` and gas estimates.

use alloy_eips::{eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, Log, TxKind, U256};
use foreseal_primitives::{Account, SpecId};
use revm::{
    Inspector,
    context::{BlockEnv, TxEnv},
    context_interface::{
        either::Either,
        result::{ExecutionResult, HaltReason},
    },
};

use crate::{
    context::{EvmContext, EvmError},
    deadline::Deadline,
    environment::{self, Environment},
    error::{ExecutionError, RejectedTransaction, TransactionFees},
    evm_instance::EvmInstance,
    optimism::Surcharge,
};

/// An unsigned transaction. Absent fields have no effect.
///
/// Without a fee field, fees and the base fee are ignored. Without a sender, the zero address sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRequest {
    pub from: Option<Address>,
    /// Recipient; `None` creates a contract.
    pub to: Option<Address>,
    /// Gas limit.
    pub gas: Option<u64>,
    /// Wei per gas, for legacy and EIP-2930 transactions.
    pub gas_price: Option<u128>,
    /// Wei per gas (EIP-1559).
    pub max_fee_per_gas: Option<u128>,
    /// Wei per gas (EIP-1559).
    pub max_priority_fee_per_gas: Option<u128>,
    /// Wei per blob gas (EIP-4844).
    pub max_fee_per_blob_gas: Option<u128>,
    /// Value in wei.
    pub value: U256,
    pub input: Bytes,
    /// If set, it must equal the chain's id (EIP-155).
    pub chain_id: Option<u64>,
    /// Access list (EIP-2930).
    pub access_list: AccessList,
    /// Versioned hashes of the blobs (EIP-4844).
    pub blob_hashes: Vec<B256>,
    /// Signed authorizations (EIP-7702).
    pub authorizations: Vec<SignedAuthorization>,
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    Success {
        gas_used: u64,
        /// Returned bytes; for a creation, the deployed code.
        output: Bytes,
        logs: Vec<Log>,
    },
    /// Stopped by `REVERT`.
    Revert { gas_used: u64, output: Bytes },
    /// Stopped by an exceptional halt, which consumes all gas.
    Halt { gas_used: u64, reason: HaltReason },
}

/// Resource limits of a call or an estimate.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Maximum gas, and the default for a request without a gas limit.
    pub gas: u64,
    /// Deadline for all runs of an estimate together.
    pub deadline: Deadline,
}

impl CallLimits {
    /// Returns the gas limit that applies to the request.
    pub(crate) fn gas_or_max(&self, request: &CallRequest) -> u64 {
        request.gas.unwrap_or(self.gas).min(self.gas)
    }
}

/// Executes `request` in its environment. Its gas is not bounded by the block's gas limit or by EIP-7825.
///
/// # Errors
/// [`ExecutionError::Rejected`] if such a transaction could not be executed at all (funds, fees below the
/// base fee, intrinsic gas, chain id); [`ExecutionError::TimeLimit`].
pub fn call(
    environment: &Environment<'_>,
    request: &CallRequest,
    limits: CallLimits,
) -> Result<CallOutcome, ExecutionError> {
    let mut simulation = Simulation::new(environment, request)?;
    simulation.set_deadline(limits.deadline);
    Ok(simulation.run(limits.gas_or_max(request))?.into())
}

impl From<ExecutionResult> for CallOutcome {
    fn from(result: ExecutionResult) -> Self {
        let gas_used = result.tx_gas_used();
        match result {
            ExecutionResult::Success { logs, output, .. } => {
                Self::Success { gas_used, output: output.into_data(), logs }
            }
            ExecutionResult::Revert { output, .. } => Self::Revert { gas_used, output },
            ExecutionResult::Halt { reason, .. } => Self::Halt { gas_used, reason },
        }
    }
}

impl CallOutcome {
    /// Returns the gas used, after refunds.
    pub fn gas_used(&self) -> u64 {
        match self {
            Self::Success { gas_used, .. } | Self::Revert { gas_used, .. } | Self::Halt { gas_used, .. } => {
                *gas_used
            }
        }
    }
}

/// A request that can run repeatedly with different gas limits; reads stay cached between runs.
pub(crate) struct Simulation<'a, I = ()> {
    machine: EvmInstance<'a, I>,
    transaction: TxEnv,
    fees: TransactionFees,
}

impl<'a> Simulation<'a> {
    pub fn new(environment: &Environment<'a>, request: &CallRequest) -> Result<Self, ExecutionError> {
        Self::with_inspector(environment, request, ())
    }
}

impl<'a, I> Simulation<'a, I> {
    /// Creates a simulation whose [`Self::inspect`] reports the execution to `inspector`.
    pub fn with_inspector(
        environment: &Environment<'a>,
        request: &CallRequest,
        inspector: I,
    ) -> Result<Self, ExecutionError> {
        let spec = environment.spec;
        if request.chain_id.is_some_and(|id| id != spec.chain_id()) {
            return Err(RejectedTransaction::ChainId.into());
        }
        let mut rules = environment::rules(spec, environment.header);
        rules.tx_chain_id_check = false;
        rules.disable_nonce_check = true;
        rules.disable_eip3607 = true;
        rules.disable_block_gas_limit = true;
        rules.tx_gas_limit_cap = Some(u64::MAX);
        let mut block = environment.block();
        request.free(&mut block);
        let transaction = request.transaction()?;
        let fees = TransactionFees {
            kind: transaction.tx_type,
            max_fee: transaction.gas_price,
            base_fee: block.basefee,
            block_gas: block.gas_limit,
            gas_limit: 0,
        };
        let mut evm = environment.evm_instance(rules, block, inspector);
        evm.set_surcharge(spec.optimism().filter(|_| request.has_fee()).map(|_| Surcharge::CALL));
        Ok(Self { machine: evm, transaction, fees })
    }

    /// Makes later runs stop once the deadline has passed.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.machine.set_deadline(deadline);
    }

    /// Runs with a gas limit and discards the changes.
    pub fn run(&mut self, gas_limit: u64) -> Result<ExecutionResult, ExecutionError> {
        self.bounded(gas_limit, EvmInstance::simulate)
    }

    /// Like [`Self::run`], but executes with the given function.
    pub fn bounded<T>(
        &mut self,
        gas_limit: u64,
        run: impl FnOnce(&mut EvmInstance<'a, I>, TxEnv) -> Result<T, EvmError>,
    ) -> Result<T, ExecutionError> {
        self.transaction.gas_limit = gas_limit;
        let fees = TransactionFees { gas_limit, ..self.fees };
        run(&mut self.machine, self.transaction.clone()).map_err(|error| fees.error(error))
    }

    /// Returns the number of calls and creations that failed in the last [`Self::run`], nested ones included.
    pub fn failed_calls(&self) -> u64 {
        self.machine.failed_calls()
    }

    /// Returns an account in its state before the request runs.
    pub fn account(&mut self, address: Address) -> Result<Account, ExecutionError> {
        Ok(self.machine.execution_state().account(address)?.unwrap_or_default())
    }

    /// Returns the maximum cost of the request's blobs (wei).
    pub fn blob_cost(&self) -> U256 {
        let blobs = self.transaction.blob_hashes.len() as u64;
        let gas = U256::from(blobs * alloy_eips::eip4844::DATA_GAS_PER_BLOB);
        gas.saturating_mul(U256::from(self.transaction.max_fee_per_blob_gas))
    }

    pub fn fork(&self) -> SpecId {
        self.machine.fork()
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> Simulation<'a, I> {
    /// Like [`Self::run`], but with the inspector active.
    pub fn inspect(&mut self, gas_limit: u64) -> Result<ExecutionResult, ExecutionError> {
        self.bounded(gas_limit, |machine, transaction| machine.inspect(transaction).map(|(result, _)| result))
    }

    pub fn inspector(&mut self) -> &mut I {
        self.machine.inspector().0
    }
}

impl CallRequest {
    /// Returns the sender, or the zero address if the request has none.
    pub fn sender(&self) -> Address {
        self.from.unwrap_or_default()
    }

    /// Returns the maximum fee per gas (wei); zero if fees are ignored.
    pub fn fee_cap(&self) -> u128 {
        self.gas_price.or(self.max_fee_per_gas).unwrap_or(0)
    }

    pub(crate) fn has_fee(&self) -> bool {
        self.fee_cap() > 0 || self.max_priority_fee_per_gas.is_some_and(|fee| fee > 0)
    }

    /// Sets the block's prices that the request ignores to zero.
    fn free(&self, block: &mut BlockEnv) {
        if !self.has_fee() {
            block.basefee = 0;
        }
        if let Some(blob) = &mut block.blob_excess_gas_and_price {
            blob.blob_gasprice = self.blob_price(blob.blob_gasprice);
        }
    }

    /// Returns the price of blobs (wei per blob gas) that the request pays: zero if it names none.
    pub(crate) fn blob_price(&self, price: u128) -> u128 {
        let is_free = self.max_fee_per_blob_gas.unwrap_or(0) == 0 && !self.blob_hashes.is_empty();
        if is_free { 0 } else { price }
    }

    fn transaction(&self) -> Result<TxEnv, RejectedTransaction> {
        let dynamic = self.max_fee_per_gas.is_some() || self.max_priority_fee_per_gas.is_some();
        let kind = if !self.authorizations.is_empty() {
            4
        } else if !self.blob_hashes.is_empty() {
            3
        } else if dynamic {
            2
        } else {
            u8::from(!self.access_list.is_empty())
        };
        if kind >= 3 && self.to.is_none() {
            return Err(RejectedTransaction::Other(format!(
                "a transaction of type {kind} cannot create a contract"
            )));
        }
        Ok(TxEnv {
            tx_type: kind,
            caller: self.sender(),
            gas_limit: 0,
            gas_price: self.fee_cap(),
            kind: self.to.map_or(TxKind::Create, TxKind::Call),
            value: self.value,
            data: self.input.clone(),
            nonce: 0,
            chain_id: None,
            access_list: self.access_list.clone(),
            gas_priority_fee: (kind >= 2).then(|| self.tip_cap()),
            blob_hashes: self.blob_hashes.clone(),
            max_fee_per_blob_gas: self.max_fee_per_blob_gas.unwrap_or(0),
            authorization_list: self.authorizations.iter().cloned().map(Either::Left).collect(),
        })
    }

    /// Returns the maximum tip per gas; a `gasPrice` is both fee and tip.
    fn tip_cap(&self) -> u128 {
        self.max_priority_fee_per_gas.or(self.gas_price).unwrap_or(0)
    }
}
