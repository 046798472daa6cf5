//! Execution of one step: one revm `Evm` over one write cache.

use std::{iter, time::Duration};

use alloy_consensus::{Eip658Value, Header, Transaction as _};
use alloy_primitives::{Address, U256};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{
    Account, ChainSpec, Envelope, OptimismFork, Receipt, SignedEnvelope, SpecId, StateDiff, Transaction,
    result_json_size,
};
use foreseal_state::{BlockHashes, StateError, StateReader};
use revm::{Database as _, context::TxEnv, context_interface::result::ExecutionResult};

use crate::{
    deposits::deposit_requests,
    environment,
    error::{ExecutionError, RejectedTransaction, TransactionFees},
    evm_instance::EvmInstance,
    execution_state::ExecutionState,
    optimism::{L1_ATTRIBUTES_CONTRACT, L1Fees, Surcharge},
    precompiles::PrecompileRules,
    slot_prediction::SlotPredictor,
};

/// Half of the order of secp256k1: the maximum `s` of a signature from Homestead on (EIP-2).
const HALF_ORDER: U256 = U256::from_limbs([
    0xdfe9_2f46_681b_20a0,
    0x5d57_6e73_57a4_501d,
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
]);

/// Number of transactions in the first batch of a prefetch. Each batch is twice as large as the one before it, so that
/// few transactions are executed before their methods are known.
const FIRST_LOOKAHEAD: usize = 4;
/// Maximum number of transactions whose state is read in one batch.
const MAX_LOOKAHEAD: usize = 64;

/// Gas and log totals of the block. The caller carries it from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockGas {
    /// Gas used by the transactions so far.
    pub gas_used: u64,
    /// Blob gas of the transactions so far (EIP-4844).
    pub blob_gas_used: u64,
    /// Number of logs emitted so far.
    pub log_count: u64,
}

/// Limits of one transaction that a step may include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionLimits {
    /// Maximum time of the execution; `None` for no limit.
    pub time: Option<Duration>,
    /// Maximum of [`result_json_size`], in bytes.
    pub result_bytes: usize,
}

impl Default for TransactionLimits {
    /// Returns no limits.
    fn default() -> Self {
        Self { time: None, result_bytes: usize::MAX }
    }
}

/// A transaction that the block may contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AdmittedTransaction {
    /// Blob gas (EIP-4844); on an OP chain the footprint of the data.
    pub blob_gas: u64,
    /// Nonce of the sender before a deposit.
    pub deposit_nonce: Option<u64>,
    pub surcharge: Option<Surcharge>,
}

impl AdmittedTransaction {
    /// Converts the transaction to revm's type.
    pub fn environment(&self, transaction: &Transaction) -> TxEnv {
        let environment = environment::transaction(transaction);
        match self.deposit_nonce {
            None => environment,
            // revm knows no deposits. Their handler skips the checks of a type.
            Some(nonce) => TxEnv { tx_type: 0, nonce, chain_id: None, ..environment },
        }
    }
}

/// The fees of one block of an OP chain.
#[derive(Clone, Copy, Debug)]
struct OptimismBlock {
    fork: OptimismFork,
    /// Read after the first deposit of the block, which sets them.
    fees: Option<L1Fees>,
}

impl OptimismBlock {
    fn new(fork: OptimismFork) -> Self {
        Self { fork, fees: None }
    }
}

/// Executes the transactions of one block, or of one step of it, in order.
pub struct Executor<'a, I = ()> {
    pub(crate) machine: EvmInstance<'a, I>,
    pub(crate) deposit_contract: Option<Address>,
    /// Number of the block with the DAO's irregular state change, if the chain supports it.
    pub(crate) dao_block: Option<u64>,
    number: u64,
    beneficiary: Address,
    gas_limit: u64,
    base_fee: Option<u64>,
    blob_gas_limit: u64,
    optimism: Option<OptimismBlock>,
    predictor: SlotPredictor,
    /// Size of the next batch to prefetch.
    next_lookahead: usize,
    /// Number of prefetched transactions that have not been executed yet.
    prefetched: usize,
    /// `true` if transactions may have a time limit of their own.
    has_time_limits: bool,
}

impl<'a> Executor<'a> {
    /// Creates an executor on `reader` under the rules and environment of `header`.
    pub fn new(
        spec: &ChainSpec,
        reader: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
        header: &Header,
    ) -> Self {
        Self::with_inspector(spec, reader, hashes, header, ())
    }
}

impl<'a, I> Executor<'a, I> {
    /// Creates an executor whose inspected transactions are reported to `inspector`.
    pub(crate) fn with_inspector(
        spec: &ChainSpec,
        reader: &'a dyn StateReader,
        hashes: &'a dyn BlockHashes,
        header: &Header,
        inspector: I,
    ) -> Self {
        let evm = EvmInstance::with_inspector(
            ExecutionState::new(reader, hashes),
            environment::rules(spec, header),
            environment::block(spec, header),
            PrecompileRules::new(spec, header),
            inspector,
        );
        let blobs = spec.blob_params(header.timestamp);
        let config = spec.config();
        Self {
            machine: evm,
            deposit_contract: spec.deposit_contract(),
            dao_block: config.dao_fork_block.filter(|_| config.dao_fork_support),
            number: header.number,
            beneficiary: header.beneficiary,
            gas_limit: header.gas_limit,
            base_fee: header.base_fee_per_gas,
            blob_gas_limit: blobs.map_or(0, |params| params.max_blob_gas_per_block()),
            optimism: spec.optimism().map(|rules| OptimismBlock::new(rules.fork())),
            predictor: SlotPredictor::default(),
            next_lookahead: FIRST_LOOKAHEAD,
            prefetched: 0,
            has_time_limits: false,
        }
    }

    /// Returns the active fork.
    pub fn fork(&self) -> SpecId {
        self.machine.fork()
    }

    /// Returns `true` on an OP chain.
    pub(crate) fn is_optimism(&self) -> bool {
        self.optimism.is_some()
    }

    /// Returns the number of the block.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the fee recipient of the block.
    pub fn beneficiary(&self) -> Address {
        self.beneficiary
    }

    /// Returns the account after the transactions so far.
    pub fn account(&mut self, address: &Address) -> Result<Option<Account>, StateError> {
        self.execution_state().account(*address)
    }

    /// Returns the number of upcoming transactions to [prefetch](Self::prefetch) now; `None` until the transactions of
    /// the last batch have been executed.
    pub fn lookahead(&self) -> Option<usize> {
        (self.prefetched == 0).then_some(self.next_lookahead)
    }

    /// Reads the accounts and the predicted slots of upcoming transactions in one batch, so that the memory latencies
    /// overlap. It only affects speed.
    pub fn prefetch<'t>(
        &mut self,
        transactions: impl IntoIterator<Item = &'t Transaction>,
    ) -> Result<(), ExecutionError> {
        let transactions: Vec<&Transaction> = transactions.into_iter().collect();
        let accounts =
            transactions.iter().flat_map(|one| iter::once(one.sender()).chain(one.envelope().to()));
        self.execution_state().prefetch(accounts)?;
        let slots = self.predictor.predict(&transactions);
        self.execution_state().prefetch_slots(slots)?;
        self.prefetched = self.next_lookahead;
        self.next_lookahead = (self.next_lookahead * 2).min(MAX_LOOKAHEAD);
        Ok(())
    }

    /// Executes a transaction and applies its changes.
    ///
    /// The receipt carries a success flag; before Byzantium the caller replaces it with the intermediate
    /// root.
    ///
    /// # Errors
    /// [`ExecutionError::Rejected`] if the block cannot contain the transaction: no change remains, `block`
    /// included. Any other error is not the transaction's fault.
    pub fn transact(
        &mut self,
        transaction: &Transaction,
        block: &mut BlockGas,
    ) -> Result<Receipt, ExecutionError> {
        self.transact_within(transaction, block, TransactionLimits::default())
    }

    /// Executes a transaction like [`Self::transact`], within limits.
    ///
    /// # Errors
    /// Returns in addition [`ExecutionError::TimeLimit`] and [`ExecutionError::ResultTooLarge`]. No change remains
    /// then. Requires [`Self::enable_time_limits`] for the time.
    pub fn transact_within(
        &mut self,
        transaction: &Transaction,
        block: &mut BlockGas,
        limits: TransactionLimits,
    ) -> Result<Receipt, ExecutionError> {
        if self.has_time_limits {
            self.machine.set_transaction_time(limits.time);
        }
        self.prefetched = self.prefetched.saturating_sub(1);
        let admitted = self.admit(transaction, block)?;
        // A wrong deposit log makes the whole block invalid.
        let deposits = self.deposit_contract.filter(|_| self.fork().is_enabled_in(SpecId::PRAGUE));
        let mut size = 0;
        let allowed = |result: &ExecutionResult| {
            size = result_json_size(transaction, result.logs());
            size <= limits.result_bytes && deposit_requests(deposits, result.logs()).is_ok()
        };
        // A contract has no signing key, but a development chain lets its users impersonate one.
        self.machine.set_disable_eip3607(transaction.is_impersonated());
        self.machine.set_surcharge(admitted.surcharge);
        let environment = admitted.environment(transaction);
        let result = match self.predictor.unknown_method(transaction) {
            None => self.machine.transact(environment, allowed),
            Some(method) => {
                let (result, recorded) = self.machine.transact_recorded(environment, allowed);
                self.predictor.learn(method, transaction, &recorded);
                result
            }
        };
        let result = match result {
            Ok(Some(result)) => result,
            Ok(None) if size > limits.result_bytes => return Err(ExecutionError::ResultTooLarge { size }),
            Ok(None) => return Err(RejectedTransaction::DepositLog.into()),
            Err(error) => {
                let mut error = self.fees(transaction).error(error);
                if let ExecutionError::Rejected(RejectedTransaction::InsufficientFunds { have, .. }) =
                    &mut error
                {
                    *have = self.account(&transaction.sender())?.unwrap_or_default().balance;
                }
                return Err(error);
            }
        };
        Ok(receipt(transaction, result, &admitted, block))
    }

    /// Allows limits of the time of a transaction. Instructions then check the deadline, which costs a little.
    pub fn enable_time_limits(&mut self) {
        self.machine.install_deadline_checks();
        self.has_time_limits = true;
    }

    /// Returns the changes since the last call: absolute values, sorted, without unchanged ones.
    pub fn drain_diff(&mut self) -> StateDiff {
        self.execution_state().drain_diff()
    }

    pub(crate) fn execution_state(&mut self) -> &mut ExecutionState<'a> {
        self.machine.execution_state()
    }

    /// Performs the checks against the block and the rules that revm leaves to its caller.
    pub(crate) fn admit(
        &mut self,
        transaction: &Transaction,
        block: &BlockGas,
    ) -> Result<AdmittedTransaction, ExecutionError> {
        let envelope = transaction.envelope();
        let available = self.gas_limit.saturating_sub(block.gas_used);
        if envelope.gas_limit() > available {
            let needed = envelope.gas_limit();
            return Err(RejectedTransaction::BlockGasExceeded { available, needed }.into());
        }
        if let Some(optimism) = self.optimism {
            return self.admit_optimism(optimism, transaction, block);
        }
        let Some(signature) = envelope.signature() else {
            return Err(RejectedTransaction::UnsupportedType(transaction.kind()).into());
        };
        let blob_gas = envelope.blob_gas_used().unwrap_or(0);
        let available = self.blob_gas_limit.saturating_sub(block.blob_gas_used);
        if blob_gas > available && self.fork().is_enabled_in(SpecId::CANCUN) {
            return Err(RejectedTransaction::BlobGasExceeded { available, needed: blob_gas }.into());
        }
        if self.fork().is_enabled_in(SpecId::HOMESTEAD) && signature.s() > HALF_ORDER {
            return Err(RejectedTransaction::SignatureForm.into());
        }
        let protected = matches!(
            envelope,
            Envelope::Signed(SignedEnvelope::Legacy(legacy)) if legacy.tx().chain_id.is_some()
        );
        if protected && !self.fork().is_enabled_in(SpecId::SPURIOUS_DRAGON) {
            return Err(RejectedTransaction::SignatureForm.into());
        }
        Ok(AdmittedTransaction { blob_gas, ..AdmittedTransaction::default() })
    }

    /// Performs the checks of an OP chain, and computes the fees besides gas.
    fn admit_optimism(
        &mut self,
        optimism: OptimismBlock,
        transaction: &Transaction,
        block: &BlockGas,
    ) -> Result<AdmittedTransaction, ExecutionError> {
        let envelope = transaction.envelope();
        if let Some(deposit) = envelope.deposit() {
            let nonce = self.account(&deposit.from)?.unwrap_or_default().nonce;
            let surcharge = Some(Surcharge::Deposit { mint: deposit.mint });
            return Ok(AdmittedTransaction { blob_gas: 0, deposit_nonce: Some(nonce), surcharge });
        }
        let Some(signature) = envelope.signature().filter(|_| envelope.blob_gas_used().is_none()) else {
            return Err(RejectedTransaction::UnsupportedType(transaction.kind()).into());
        };
        if signature.s() > HALF_ORDER {
            return Err(RejectedTransaction::SignatureForm.into());
        }
        let fees = self.l1_fees(optimism)?;
        let footprint = fees.footprint(transaction);
        let available = self.gas_limit.saturating_sub(block.blob_gas_used);
        if footprint > available {
            return Err(RejectedTransaction::FootprintExceeded { available, needed: footprint }.into());
        }
        let surcharge = Some(Surcharge::Fees { data: fees.data_fee(transaction), operator: fees.operator });
        Ok(AdmittedTransaction { blob_gas: footprint, deposit_nonce: None, surcharge })
    }

    /// Returns the fee parameters of L1, which the first deposit of the block has set.
    fn l1_fees(&mut self, optimism: OptimismBlock) -> Result<L1Fees, ExecutionError> {
        if let Some(fees) = optimism.fees {
            return Ok(fees);
        }
        let state = self.execution_state();
        let fees = L1Fees::read(optimism.fork, |slot| state.storage(L1_ATTRIBUTES_CONTRACT, slot))?;
        self.optimism = Some(OptimismBlock { fees: Some(fees), ..optimism });
        Ok(fees)
    }

    pub(crate) fn fees(&self, transaction: &Transaction) -> TransactionFees {
        TransactionFees {
            kind: transaction.kind(),
            max_fee: transaction.envelope().max_fee_per_gas(),
            base_fee: self.base_fee.unwrap_or(0),
            block_gas: self.gas_limit,
            gas_limit: transaction.envelope().gas_limit(),
        }
    }
}

/// Builds the receipt of an executed transaction and adds the transaction to the totals in `block`.
pub(crate) fn receipt(
    transaction: &Transaction,
    result: ExecutionResult,
    admitted: &AdmittedTransaction,
    block: &mut BlockGas,
) -> Receipt {
    let gas_used = result.tx_gas_used();
    let succeeded = result.is_success();
    let logs = result.into_logs();
    let first_log_index = block.log_count;
    block.gas_used = block.gas_used.saturating_add(gas_used);
    block.blob_gas_used = block.blob_gas_used.saturating_add(admitted.blob_gas);
    block.log_count += logs.len() as u64;
    let envelope = transaction.envelope();
    let created = envelope.kind().is_create();
    let nonce = admitted.deposit_nonce.unwrap_or_else(|| envelope.nonce());
    Receipt {
        kind: transaction.kind(),
        status: Eip658Value::Eip658(succeeded),
        cumulative_gas_used: block.gas_used,
        bloom: logs_bloom(&logs),
        logs,
        gas_used,
        contract_address: created.then(|| transaction.sender().create(nonce)),
        first_log_index,
        deposit_nonce: admitted.deposit_nonce,
    }
}
