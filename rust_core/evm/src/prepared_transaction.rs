//! A transaction that was executed on an earlier state of its block, to be added to a later one.
//!
//! ```text
//!   prepare:  step k    ->  execute on its state, without a time limit  ->  reads, changes, receipt
//!   add:      step k+n  ->  every value that was read is unchanged      ->  the same changes, without execution
//! ```
//!
//! The fee recipient's balance grows with every transaction. Its read does not count if only the payment of the fee
//! needed it; the payment is then added to the newest balance.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, U256};
use foreseal_primitives::{Account, ChangedAccount, Receipt, StateDiff, Transaction};

use revm::primitives::KECCAK_EMPTY;

use crate::{
    error::{ExecutionError, RejectedTransaction},
    execution_state::AccountRead,
    executor::{BlockGas, Executor},
};

/// An executed transaction, with everything that it read.
#[derive(Debug)]
pub struct PreparedTransaction {
    transaction: Arc<Transaction>,
    /// Receipt as if the block contained nothing else.
    receipt: Receipt,
    blob_gas: u64,
    diff: StateDiff,
    reads: Vec<AccountRead>,
    /// Fees (wei) to add to the fee recipient's balance; `None` if the execution has read that balance.
    tip: Option<U256>,
}

impl PreparedTransaction {
    /// Returns the transaction.
    pub fn transaction(&self) -> &Arc<Transaction> {
        &self.transaction
    }
}

impl Executor<'_> {
    /// Executes a transaction on the state of this executor, which must be new. `block` has the totals so far.
    ///
    /// # Errors
    /// Returns the errors of [`Executor::transact`].
    pub fn prepare(
        mut self,
        transaction: Arc<Transaction>,
        mut block: BlockGas,
    ) -> Result<PreparedTransaction, ExecutionError> {
        let recipient = self.beneficiary();
        self.execution_state().watch_fee_recipient(recipient);
        let before = block;
        let mut receipt = self.transact(&transaction, &mut block)?;
        receipt.cumulative_gas_used = receipt.gas_used;
        receipt.first_log_index = 0;
        let (reads, is_read) = self.execution_state().reads();
        let is_observed = is_read && !self.is_direct(&transaction, recipient)?;
        let mut diff = self.drain_diff();
        let paid = |account: &ChangedAccount| {
            let before = reads.iter().find(|read| read.address == recipient)?.account;
            let after = account.diff.account?.balance;
            after.checked_sub(before.map_or(U256::ZERO, |account| account.balance))
        };
        let at = diff.accounts.iter().position(|changed| changed.address == recipient);
        let tip = match at {
            _ if is_observed => None,
            None => Some(U256::ZERO),
            Some(index) => paid(&diff.accounts[index]).inspect(|_| drop(diff.accounts.remove(index))),
        };
        let blob_gas = block.blob_gas_used.saturating_sub(before.blob_gas_used);
        Ok(PreparedTransaction { transaction, receipt, blob_gas, diff, reads, tip })
    }

    /// Returns `true` if the transaction runs no code, only a precompiled contract, so that nothing but the payment of
    /// fees reads the fee recipient.
    fn is_direct(&mut self, transaction: &Transaction, recipient: Address) -> Result<bool, ExecutionError> {
        let envelope = transaction.envelope();
        let Some(to) = envelope.to() else { return Ok(false) };
        let has_lists =
            envelope.authorization_list().is_some() || envelope.access_list().is_some_and(|l| !l.is_empty());
        if has_lists || to == recipient || transaction.sender() == recipient {
            return Ok(false);
        }
        Ok(self.account(&to)?.is_none_or(|account| account.code_hash == KECCAK_EMPTY))
    }

    /// Adds a prepared transaction of the same block without executing it again. Returns `None`, and changes nothing,
    /// if a value that it has read is another one now.
    ///
    /// # Errors
    /// Returns the errors of [`Executor::transact`].
    pub fn add_prepared(
        &mut self,
        prepared: &PreparedTransaction,
        block: &mut BlockGas,
    ) -> Result<Option<Receipt>, ExecutionError> {
        self.admit(&prepared.transaction, block)?;
        let recipient = self.beneficiary();
        for read in &prepared.reads {
            let is_free = prepared.tip.is_some() && read.address == recipient;
            if !is_free && !self.is_unchanged(read)? {
                return Ok(None);
            }
        }
        self.execution_state().write(&prepared.diff).map_err(ExecutionError::from)?;
        if let Some(tip) = prepared.tip.filter(|tip| !tip.is_zero()) {
            let balance = self.account(&recipient)?.map_or(U256::ZERO, |account: Account| account.balance);
            let balance = balance.checked_add(tip);
            let balance =
                balance.ok_or_else(|| RejectedTransaction::Other("the fees overflow".to_owned()))?;
            self.execution_state().set_balance(recipient, balance, false)?;
        }
        block.gas_used = block.gas_used.saturating_add(prepared.receipt.gas_used);
        block.blob_gas_used = block.blob_gas_used.saturating_add(prepared.blob_gas);
        let first_log_index = block.log_count;
        block.log_count += prepared.receipt.logs.len() as u64;
        let cumulative_gas_used = block.gas_used;
        Ok(Some(Receipt { cumulative_gas_used, first_log_index, ..prepared.receipt.clone() }))
    }

    fn is_unchanged(&mut self, read: &AccountRead) -> Result<bool, ExecutionError> {
        if self.account(&read.address)? != read.account {
            return Ok(false);
        }
        for (slot, value) in &read.slots {
            if self.execution_state().slot(read.address, *slot)? != *value {
                return Ok(false);
            }
        }
        Ok(read.is_complete)
    }
}
