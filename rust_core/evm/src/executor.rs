//! Execution of one step: one revm `Evm` over one write cache.

use alloy_consensus::{Eip658Value, Header, Transaction as _};
use alloy_primitives::{Address, U256};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{Account, ChainSpec, Envelope, Receipt, SpecId, StateDiff, Transaction};
use foreseal_state::{BlockHashes, StateError, StateReader};
use revm::context_interface::result::ExecutionResult;

use crate::{
    deposits::deposit_requests,
    environment,
    error::{ExecutionError, RejectedTransaction, TransactionFees},
    evm_instance::EvmInstance,
    execution_state::ExecutionState,
};

/// Half of the order of secp256k1: the maximum `s` of a signature from Homestead on (EIP-2).
const HALF_ORDER: U256 = U256::from_limbs([
    0xdfe9_2f46_681b_20a0,
    0x5d57_6e73_57a4_501d,
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
]);

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
        }
    }

    /// Returns the active fork.
    pub fn fork(&self) -> SpecId {
        self.machine.fork()
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

    /// Reads the accounts of upcoming transactions in one batch, so that the memory latencies overlap. It
    /// only affects speed.
    pub fn prefetch(&mut self, addresses: impl Iterator<Item = Address>) -> Result<(), ExecutionError> {
        Ok(self.execution_state().prefetch(addresses)?)
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
        let blob_gas = self.admit(transaction, block)?;
        // A wrong deposit log makes the whole block invalid.
        let deposits = self.deposit_contract.filter(|_| self.fork().is_enabled_in(SpecId::PRAGUE));
        let allowed = |result: &ExecutionResult| deposit_requests(deposits, result.logs()).is_ok();
        // A contract has no signing key, but a development chain lets its users impersonate one.
        self.machine.set_disable_eip3607(transaction.is_impersonated());
        let result = match self.machine.transact(environment::transaction(transaction), allowed) {
            Ok(Some(result)) => result,
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
        Ok(receipt(transaction, result, blob_gas, block))
    }

    /// Returns the changes since the last call: absolute values, sorted, without unchanged ones.
    pub fn drain_diff(&mut self) -> StateDiff {
        self.execution_state().drain_diff()
    }

    pub(crate) fn execution_state(&mut self) -> &mut ExecutionState<'a> {
        self.machine.execution_state()
    }

    /// Performs the checks against the block and the rules that revm leaves to its caller. Returns the blob
    /// gas.
    pub(crate) fn admit(
        &self,
        transaction: &Transaction,
        block: &BlockGas,
    ) -> Result<u64, RejectedTransaction> {
        let envelope = transaction.envelope();
        let available = self.gas_limit.saturating_sub(block.gas_used);
        if envelope.gas_limit() > available {
            return Err(RejectedTransaction::BlockGasExceeded { available, needed: envelope.gas_limit() });
        }
        let blob_gas = envelope.blob_gas_used().unwrap_or(0);
        let available = self.blob_gas_limit.saturating_sub(block.blob_gas_used);
        if blob_gas > available && self.fork().is_enabled_in(SpecId::CANCUN) {
            return Err(RejectedTransaction::BlobGasExceeded { available, needed: blob_gas });
        }
        if self.fork().is_enabled_in(SpecId::HOMESTEAD) && envelope.signature().s() > HALF_ORDER {
            return Err(RejectedTransaction::SignatureForm);
        }
        let protected = matches!(envelope, Envelope::Legacy(legacy) if legacy.tx().chain_id.is_some());
        if protected && !self.fork().is_enabled_in(SpecId::SPURIOUS_DRAGON) {
            return Err(RejectedTransaction::SignatureForm);
        }
        Ok(blob_gas)
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
    blob_gas: u64,
    block: &mut BlockGas,
) -> Receipt {
    let gas_used = result.tx_gas_used();
    let succeeded = result.is_success();
    let logs = result.into_logs();
    let first_log_index = block.log_count;
    block.gas_used = block.gas_used.saturating_add(gas_used);
    block.blob_gas_used = block.blob_gas_used.saturating_add(blob_gas);
    block.log_count += logs.len() as u64;
    let envelope = transaction.envelope();
    let created = envelope.kind().is_create();
    Receipt {
        kind: transaction.kind(),
        status: Eip658Value::Eip658(succeeded),
        cumulative_gas_used: block.gas_used,
        bloom: logs_bloom(&logs),
        logs,
        gas_used,
        contract_address: created.then(|| transaction.sender().create(envelope.nonce())),
        first_log_index,
    }
}
