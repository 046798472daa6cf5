//! Block processing before and after the transactions.

use alloy_consensus::Header;
use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS,
    eip4788::BEACON_ROOTS_ADDRESS,
    eip4895::Withdrawal,
    eip6110::DEPOSIT_REQUEST_TYPE,
    eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE},
    eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE},
    eip7685::Requests,
};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, Log, U256};
use foreseal_primitives::{ChainSpec, SpecId, StateDiff};
use foreseal_state::{BlockHashes, StateError, StateReader};
use revm::context_interface::result::ExecutionResult;

use crate::{
    dao_fork::{DAO_ACCOUNTS, DAO_BENEFICIARY},
    deposits::deposit_requests,
    error::{ExecutionError, TransactionFees},
    executor::Executor,
    rewards,
};

/// The parts of a block's body that the end of the block depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockBody<'a> {
    pub withdrawals: &'a [Withdrawal],
    pub uncles: &'a [Header],
}

/// Result of the end of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndOfBlock {
    /// Requests to the consensus layer (EIP-7685); `None` before Prague.
    pub requests: Option<Requests>,
    /// State changes.
    pub diff: StateDiff,
}

/// Runs the end of a block on the state after its transactions.
///
/// # Errors
/// Returns the errors of [`Executor::end_block`].
pub fn end_block<'l>(
    spec: &ChainSpec,
    reader: &dyn StateReader,
    hashes: &dyn BlockHashes,
    header: &Header,
    logs: impl IntoIterator<Item = &'l Log>,
    body: BlockBody<'_>,
) -> Result<EndOfBlock, ExecutionError> {
    let mut executor = Executor::new(spec, reader, hashes, header);
    let requests = executor.end_block(logs, body)?;
    Ok(EndOfBlock { requests, diff: executor.drain_diff() })
}

impl<I> Executor<'_, I> {
    /// Runs the block processing before the first transaction.
    ///
    /// Applies the DAO's irregular state change if the chain supports it (EIP-779). Stores the parent's hash
    /// (EIP-2935) and the parent beacon block root (EIP-4788).
    pub fn begin_block(
        &mut self,
        parent_hash: B256,
        parent_beacon_root: Option<B256>,
    ) -> Result<(), ExecutionError> {
        if self.dao_block == Some(self.number()) {
            self.move_dao_funds()?;
        }
        // The genesis block makes no system calls.
        if self.number() == 0 {
            return Ok(());
        }
        if self.fork().is_enabled_in(SpecId::PRAGUE) {
            self.system_call(HISTORY_STORAGE_ADDRESS, parent_hash.0.into())?;
        }
        if self.fork().is_enabled_in(SpecId::CANCUN) {
            let root = parent_beacon_root
                .ok_or_else(|| ExecutionError::Environment("parent beacon block root is missing".into()))?;
            self.system_call(BEACON_ROOTS_ADDRESS, root.0.into())?;
        }
        Ok(())
    }

    /// Runs the block processing after the last transaction and returns the block's requests (EIP-7685),
    /// `None` before Prague.
    ///
    /// Processes deposits from all the block's logs (EIP-6110), withdrawal and consolidation requests
    /// (EIP-7002, 7251), withdrawals (EIP-4895) and proof-of-work rewards. An OP chain has none of these.
    ///
    /// # Errors
    /// From Prague on, returns an error if a request contract is missing or fails, or if a deposit log has a
    /// wrong layout. Such a block is invalid.
    pub fn end_block<'l>(
        &mut self,
        logs: impl IntoIterator<Item = &'l Log>,
        body: BlockBody<'_>,
    ) -> Result<Option<Requests>, ExecutionError> {
        let requests = if self.is_optimism() {
            // Isthmus: no request is processed.
            Some(Requests::default())
        } else if self.fork().is_enabled_in(SpecId::PRAGUE) {
            Some(self.requests(logs)?)
        } else {
            None
        };
        for (address, amount) in rewards::rewards(self.fork(), self.number(), self.beneficiary(), body.uncles)
        {
            self.add_balance(address, amount)?;
        }
        for withdrawal in body.withdrawals {
            self.add_balance(withdrawal.address, withdrawal.amount_wei())?;
        }
        Ok(requests)
    }

    fn requests<'l>(&mut self, logs: impl IntoIterator<Item = &'l Log>) -> Result<Requests, ExecutionError> {
        let mut requests = Requests::default();
        requests.push_request_with_type(DEPOSIT_REQUEST_TYPE, deposit_requests(self.deposit_contract, logs)?);
        for (kind, contract) in [
            (WITHDRAWAL_REQUEST_TYPE, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
            (CONSOLIDATION_REQUEST_TYPE, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
        ] {
            requests.push_request_with_type(kind, self.request_contract(contract)?);
        }
        Ok(requests)
    }

    /// Calls a contract that must exist and must succeed.
    fn request_contract(&mut self, address: Address) -> Result<Bytes, ExecutionError> {
        let code = self.account(&address)?.map_or(KECCAK256_EMPTY, |account| account.code_hash);
        let failed = |reason: String| ExecutionError::SystemContract { address, reason };
        if code == KECCAK256_EMPTY {
            return Err(failed("no code".to_owned()));
        }
        match self.system_call(address, Bytes::new())? {
            ExecutionResult::Success { output, .. } => Ok(output.into_data()),
            ExecutionResult::Revert { output, .. } => Err(failed(format!("reverted with {output}"))),
            ExecutionResult::Halt { reason, .. } => Err(failed(format!("halted: {reason:?}"))),
        }
    }

    fn system_call(&mut self, address: Address, data: Bytes) -> Result<ExecutionResult, ExecutionError> {
        self.machine.system_call(address, data).map_err(|error| TransactionFees::default().error(error))
    }

    fn add_balance(&mut self, address: Address, amount: U256) -> Result<(), StateError> {
        let clear = self.fork().is_enabled_in(SpecId::SPURIOUS_DRAGON);
        let before = self.account(&address)?.unwrap_or_default().balance;
        self.execution_state().set_balance(address, before.saturating_add(amount), clear)
    }

    fn move_dao_funds(&mut self) -> Result<(), StateError> {
        let mut total = U256::ZERO;
        for address in DAO_ACCOUNTS {
            if let Some(account) = self.account(&address)? {
                total = total.saturating_add(account.balance);
                self.execution_state().set_balance(address, U256::ZERO, false)?;
            }
        }
        self.add_balance(DAO_BENEFICIARY, total)
    }
}
