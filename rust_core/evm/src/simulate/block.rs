//! Simulation of one block.

use std::{cmp::Ordering, sync::Arc};

use alloy_consensus::{Eip658Value, Header, Transaction as _, constants::EMPTY_OMMER_ROOT_HASH};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{B256, Bloom, Bytes, Log};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{Block, ForkPoint, Receipt, SpecId, Transaction, length_in_block};
use foreseal_state::{BlockHashes, State, StateError, withdrawals_root};
use foreseal_trie::ordered_trie_root;
use revm::context_interface::result::ExecutionResult;

use super::{
    block_order::NumberedRequest,
    error::SimulateError,
    request::{SimulateBase, SimulateOptions, SimulatedCall},
    result::{CallStatus, SimulatedBlock, SimulatedResult},
    transaction::simulated,
    transfers::Transfers,
};
use crate::{
    environment,
    environment::Environment,
    error::{ExecutionError, RejectedTransaction, TransactionFees},
    evm_instance::EvmInstance,
    executor::Executor,
    optimism::Surcharge,
    precompiles::PrecompileRules,
    system_calls::{BlockBody, end_block},
};

/// State of a simulation between two blocks.
pub struct Simulator<'a> {
    base: SimulateBase<'a>,
    options: &'a SimulateOptions,
    parent: Header,
    state: State,
    /// Hashes of the simulated blocks, which follow the base without a gap.
    hashes: Vec<B256>,
    gas_left: u64,
}

/// The hashes of a simulated block's ancestors.
struct AncestorHashes<'a> {
    base: SimulateBase<'a>,
    simulated: &'a [B256],
}

impl BlockHashes for AncestorHashes<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        match number.checked_sub(self.base.header.number) {
            None => self.base.hashes.block_hash(number),
            Some(0) => Ok(Some(self.base.hash)),
            Some(after) => {
                let index = usize::try_from(after - 1).ok();
                Ok(index.and_then(|index| self.simulated.get(index)).copied())
            }
        }
    }
}

/// Results of the calls of a block.
#[derive(Default)]
struct CallResults {
    transactions: Vec<Arc<Transaction>>,
    receipts: Vec<Arc<Receipt>>,
    results: Vec<SimulatedResult>,
    gas_used: u64,
    blob_gas_used: u64,
    log_count: u64,
    /// Logs in the results, which may have ether transfers in addition.
    shown_count: u64,
}

impl<'a> Simulator<'a> {
    pub fn new(base: &SimulateBase<'a>, options: &'a SimulateOptions) -> Self {
        let (parent, state) = (base.header.clone(), base.state.clone());
        Self { base: *base, options, parent, state, hashes: Vec::new(), gas_left: options.gas }
    }

    /// Executes the next block.
    pub fn block(&mut self, placed: &NumberedRequest) -> Result<SimulatedBlock, SimulateError> {
        self.options.deadline.check().map_err(SimulateError::Execution)?;
        let mut header = self.header(placed);
        let request = &placed.request;
        let spec = self.base.spec;
        let overridden = request.state.resolve(&self.state, PrecompileRules::new(spec, &header))?;
        let hashes = std::mem::take(&mut self.hashes);
        let ancestors = AncestorHashes { base: self.base, simulated: &hashes };
        let mut state = self.state.apply(&overridden.diff)?;
        let diff = {
            let mut executor = Executor::new(spec, &state, &ancestors, &header);
            executor.begin_block(header.parent_hash, header.parent_beacon_block_root)?;
            executor.drain_diff()
        };
        state = state.apply(&diff)?;
        let (made, diff) = {
            let environment = Environment {
                blob_base_fee: request.block.blob_base_fee,
                precompiles: overridden.precompiles,
                ..Environment::new(spec, &state, &ancestors, &header)
            };
            self.calls(&environment, &request.calls)?
        };
        state = state.apply(&diff)?;
        let withdrawals = request.block.withdrawals.clone().unwrap_or_default();
        let logs = made.receipts.iter().flat_map(|receipt| &receipt.logs);
        let body = BlockBody { withdrawals: &withdrawals, uncles: &[] };
        let end = end_block(spec, &state, &ancestors, &header, logs, body)?;
        state = state.apply(&end.diff)?;
        header.requests_hash = end.requests.map(|requests| requests.requests_hash());
        header.state_root = state.root();
        let mut block = assemble(header, &made, withdrawals);
        if spec.optimism().is_some() {
            block.header.withdrawals_root = Some(withdrawals_root(&state)?);
            block.hash = block.header.hash_slow();
        }
        self.hashes = hashes;
        self.hashes.push(block.hash);
        self.parent = block.header.clone();
        self.state = state;
        Ok(SimulatedBlock { block, calls: made.results })
    }

    /// Returns the header with the fields that are available before the block executes.
    fn header(&self, placed: &NumberedRequest) -> Header {
        let (spec, parent) = (self.base.spec, &self.parent);
        let &NumberedRequest { number, timestamp, ref request } = placed;
        let merged = parent.difficulty.is_zero();
        let fork = spec.fork(ForkPoint { number, timestamp, merged });
        let next_fee = || if self.options.validation { spec.produced_base_fee(parent) } else { Some(0) };
        let header = Header {
            parent_hash: self.hashes.last().copied().unwrap_or(self.base.hash),
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            number,
            timestamp,
            beneficiary: parent.beneficiary,
            difficulty: parent.difficulty,
            gas_limit: parent.gas_limit,
            base_fee_per_gas: if fork.is_enabled_in(SpecId::LONDON) { next_fee() } else { None },
            excess_blob_gas: if fork.is_enabled_in(SpecId::CANCUN) {
                spec.excess_blob_gas_after(parent, timestamp)
            } else {
                None
            },
            parent_beacon_block_root: fork.is_enabled_in(SpecId::CANCUN).then_some(B256::ZERO),
            withdrawals_root: fork
                .is_enabled_in(SpecId::SHANGHAI)
                .then_some(alloy_consensus::constants::EMPTY_WITHDRAWALS),
            blob_gas_used: fork.is_enabled_in(SpecId::CANCUN).then_some(0),
            // On an OP chain, it has the parameters of the next base fee.
            extra_data: spec.optimism().map_or_else(Bytes::new, |_| parent.extra_data.clone()),
            ..Header::default()
        };
        request.block.apply(&header)
    }

    fn calls(
        &mut self,
        environment: &Environment<'_>,
        calls: &[SimulatedCall],
    ) -> Result<(CallResults, foreseal_primitives::StateDiff), SimulateError> {
        let mut rules = environment::rules(environment.spec, environment.header);
        rules.disable_eip3607 = true;
        rules.disable_nonce_check = !self.options.validation;
        rules.tx_gas_limit_cap = Some(u64::MAX);
        let inspector = Transfers::new(self.options.trace_transfers);
        let mut evm = environment.evm_instance(rules, environment.block(), inspector);
        evm.set_deadline(self.options.deadline);
        let mut made = CallResults::default();
        for call in calls {
            self.call(environment, &mut evm, call, &mut made)?;
        }
        let diff = evm.execution_state().drain_diff();
        Ok((made, diff))
    }

    fn call(
        &mut self,
        environment: &Environment<'_>,
        machine: &mut EvmInstance<'_, Transfers>,
        call: &SimulatedCall,
        made: &mut CallResults,
    ) -> Result<(), SimulateError> {
        let request = &call.request;
        let from = request.sender();
        let remaining = environment.header.gas_limit.saturating_sub(made.gas_used);
        let wanted = request.gas.unwrap_or(remaining);
        if wanted > remaining {
            return Err(SimulateError::BlockGas { remaining, required: wanted });
        }
        let gas = wanted.min(self.gas_left);
        let invalid = |error| SimulateError::Invalid { error, gas, from };
        let expected = machine.execution_state().account(from)?.unwrap_or_default().nonce;
        let nonce = call.nonce.unwrap_or(expected);
        if self.options.validation {
            check_nonce(expected, nonce).map_err(invalid)?;
        }
        let transaction = simulated(request, environment.spec.chain_id(), nonce, gas).map_err(invalid)?;
        let pays = self.options.validation || request.has_fee();
        machine.require_base_fee(pays);
        machine.set_surcharge(environment.spec.optimism().filter(|_| pays).map(|_| Surcharge::CALL));
        let fees = TransactionFees {
            kind: transaction.kind(),
            max_fee: request.fee_cap(),
            base_fee: environment.header.base_fee_per_gas.unwrap_or(0),
            block_gas: environment.header.gas_limit,
            gas_limit: gas,
        };
        let mut unchecked = environment::transaction(&transaction);
        if !self.options.validation {
            // Without validation, revm only checks the nonce against its maximum.
            unchecked.nonce = 0;
        }
        let price = environment.block().blob_excess_gas_and_price.map_or(0, |blob| blob.blob_gasprice);
        machine.set_blob_price(if self.options.validation { price } else { request.blob_price(price) });
        let outcome = machine.inspect(unchecked);
        let (result, mut changes) = match outcome.map_err(|error| fees.error(error)) {
            Ok(outcome) => outcome,
            Err(ExecutionError::Rejected(RejectedTransaction::IntrinsicGas { .. })) if gas < wanted => {
                return Err(SimulateError::GasLimit { max: self.options.gas });
            }
            Err(ExecutionError::Rejected(error)) => return Err(invalid(error)),
            Err(error) => return Err(error.into()),
        };
        if expected == u64::MAX
            && let Some(sender) = changes.get_mut(&from)
        {
            // The nonce wraps to zero as in geth; revm keeps the maximum.
            sender.info.nonce = 0;
        }
        machine.execution_state().commit_all(changes.into_iter());
        self.gas_left = self.gas_left.saturating_sub(result.tx_gas_used());
        let logs = machine.inspector().0.drain_logs();
        made.add(transaction, result, logs);
        Ok(())
    }
}

/// Checks the nonce. A wrong nonce takes precedence over all other errors.
fn check_nonce(expected: u64, got: u64) -> Result<(), RejectedTransaction> {
    match got.cmp(&expected) {
        Ordering::Less => Err(RejectedTransaction::NonceTooLow { expected, got }),
        Ordering::Greater => Err(RejectedTransaction::NonceTooHigh { expected, got }),
        Ordering::Equal if got == u64::MAX => Err(RejectedTransaction::NonceOverflow),
        Ordering::Equal => Ok(()),
    }
}

impl CallResults {
    fn add(&mut self, transaction: Transaction, result: ExecutionResult, shown: Vec<Log>) {
        let gas_used = result.tx_gas_used();
        let gas = result.gas();
        let gas_spent = gas.total_gas_spent().max(gas.floor_gas());
        let envelope = transaction.envelope();
        self.gas_used += gas_used;
        self.blob_gas_used += envelope.blob_gas_used().unwrap_or(0);
        let (status, output) = match &result {
            ExecutionResult::Success { output, .. } => (CallStatus::Success, output.data().clone()),
            ExecutionResult::Revert { output, .. } => (CallStatus::Revert, output.clone()),
            ExecutionResult::Halt { reason, .. } => (CallStatus::Halt(reason.clone()), Bytes::new()),
        };
        let logs = result.into_logs();
        let first_log_index = self.log_count;
        self.log_count += logs.len() as u64;
        let created = envelope.kind().is_create();
        self.receipts.push(Arc::new(Receipt {
            kind: transaction.kind(),
            status: Eip658Value::Eip658(status == CallStatus::Success),
            cumulative_gas_used: self.gas_used,
            bloom: logs_bloom(&logs),
            logs,
            gas_used,
            contract_address: created.then(|| transaction.sender().create(envelope.nonce())),
            first_log_index,
            deposit_nonce: None,
        }));
        let logs = if status == CallStatus::Success { shown } else { Vec::new() };
        let first_log_index = self.shown_count;
        self.shown_count += logs.len() as u64;
        self.results.push(SimulatedResult { output, logs, first_log_index, gas_used, gas_spent, status });
        self.transactions.push(Arc::new(transaction));
    }
}

fn assemble(
    mut header: Header,
    made: &CallResults,
    withdrawals: Vec<alloy_eips::eip4895::Withdrawal>,
) -> Block {
    header.gas_used = made.gas_used;
    header.blob_gas_used = header.blob_gas_used.map(|_| made.blob_gas_used);
    header.transactions_root = ordered_trie_root(made.transactions.iter().map(|one| one.encoded().clone()));
    header.receipts_root = ordered_trie_root(made.receipts.iter().map(|receipt| {
        let mut out = Vec::new();
        receipt.encode_2718(&mut out);
        out.into()
    }));
    header.logs_bloom = made.receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom);
    if header.withdrawals_root.is_some() {
        let items = withdrawals.iter().map(|withdrawal| alloy_rlp::encode(withdrawal).into());
        header.withdrawals_root = Some(ordered_trie_root(items));
    }
    Block {
        hash: header.hash_slow(),
        withdrawals: header.withdrawals_root.map(|_| Withdrawals::new(withdrawals)),
        transactions_length: made.transactions.iter().map(|one| length_in_block(one)).sum(),
        transactions: made.transactions.iter().cloned().collect(),
        receipts: made.receipts.iter().cloned().collect(),
        uncles: Vec::new(),
        header,
    }
}
