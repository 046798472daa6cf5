//! The second phase of admission: checks against the pending state and the other transactions, under the
//! lock.

use std::sync::Arc;

use alloy_primitives::{B256, KECCAK256_EMPTY};
use foreseal_primitives::{Account, L1_ATTRIBUTES_CONTRACT, L1Fees, OptimismFork};
use foreseal_state::{StateError, StateReader};
use serde::{Deserialize, Serialize};

use crate::{
    contents::Contents,
    error::PoolError,
    origin::Origin,
    status::{Dropped, QueuedReason},
    transaction::{CheckedTransaction, PooledTransaction},
};

/// Result of an accepted submission.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct AddedTransaction {
    pub hash: B256,
    /// `true` if it can run in the next step, base fees aside; otherwise it is queued.
    pub executable: bool,
    /// The transaction that it outbid.
    pub replaced: Option<B256>,
    /// Transactions evicted to make room for it.
    pub evicted: Vec<Dropped>,
}

/// Result of a submission that is accepted only if it can run in the next step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Admission {
    Added(AddedTransaction),
    /// It would have to wait for this condition, so it was not added.
    WouldQueue(QueuedReason),
}

/// The newest pending view, as admission reads it.
pub trait PendingHead {
    /// Returns the state after the newest published step.
    fn state(&self) -> &dyn StateReader;
    /// Returns `true` if an unsealed step contains the transaction.
    fn is_preconfirmed(&self, hash: &B256) -> bool;
    /// Returns what the rules of an OP chain depend on; `None` on any other chain.
    fn optimism(&self) -> Option<OptimismHead> {
        None
    }
}

/// Properties of the block being built on an OP chain.
#[derive(Clone, Copy, Debug)]
pub struct OptimismHead {
    pub fork: OptimismFork,
    pub gas_limit: u64,
}

impl Contents {
    /// Reads the fees of L1 at the first admission to the pool of an OP chain. [`Self::set_l1_fees`] keeps them
    /// current.
    pub(crate) fn read_l1_fees<H: PendingHead + ?Sized>(&mut self, head: &H) -> Result<(), StateError> {
        if self.costs.l1.is_none()
            && let Some(fees) = l1_fees(head)?
        {
            for sender in self.set_l1_fees(fees) {
                self.recount_executable(sender);
            }
        }
        Ok(())
    }

    /// Checks a submission in the order of precedence of the errors, makes room and inserts it.
    ///
    /// # Errors
    ///
    /// Returns the error of the first check that fails. The contents are then unchanged.
    pub(crate) fn admit<H: PendingHead + ?Sized>(
        &mut self,
        submission: CheckedTransaction,
        origin: Origin,
        head: &H,
    ) -> Result<AddedTransaction, PoolError> {
        self.read_l1_fees(head)?;
        let account = self.validate(&submission, origin, head)?;
        self.make_room_and_insert(submission, &account)
    }

    /// Admits a submission like [`Self::admit`], but only if it can run in the next step.
    pub(crate) fn admit_if_executable<H: PendingHead + ?Sized>(
        &mut self,
        submission: CheckedTransaction,
        head: &H,
    ) -> Result<Admission, PoolError> {
        self.read_l1_fees(head)?;
        let account = self.validate(&submission, Origin::Submitted, head)?;
        match self.queued_reason_if_added(&submission, &account) {
            Some(waiting) => Ok(Admission::WouldQueue(waiting)),
            None => self.make_room_and_insert(submission, &account).map(Admission::Added),
        }
    }

    /// Checks a submission like [`Self::admit`], and adds nothing.
    ///
    /// # Errors
    ///
    /// Returns the error of the first check that fails.
    pub(crate) fn precheck<H: PendingHead + ?Sized>(
        &mut self,
        submission: &CheckedTransaction,
        head: &H,
    ) -> Result<(), PoolError> {
        let account = self.validate(submission, Origin::Submitted, head)?;
        self.select_evictions(submission, &account).map(drop)
    }

    /// Runs every check except the one for room, and returns the sender's account.
    fn validate<H: PendingHead + ?Sized>(
        &self,
        submission: &CheckedTransaction,
        origin: Origin,
        head: &H,
    ) -> Result<Account, PoolError> {
        let hash = submission.hash();
        if self.by_hash.contains_key(&hash) || head.is_preconfirmed(&hash) {
            return Err(PoolError::AlreadyKnown);
        }
        if let Some(OptimismHead { gas_limit, .. }) = head.optimism() {
            self.costs.check_footprint(submission, gas_limit)?;
        }
        let account = head.state().account(&submission.sender())?.unwrap_or_default();
        self.check_account(submission, origin, &account)?;
        self.check_replacement(submission)?;
        if !submission.transaction().is_impersonated() {
            check_code(&account, head.state())?;
        }
        Ok(account)
    }

    fn make_room_and_insert(
        &mut self,
        submission: CheckedTransaction,
        account: &Account,
    ) -> Result<AddedTransaction, PoolError> {
        let (hash, sender, nonce) = (submission.hash(), submission.sender(), submission.nonce());
        let candidates = self.select_evictions(&submission, account)?;
        let evicted = candidates.into_iter().map(|candidate| self.evict(candidate)).collect();
        let replaced = self.insert(submission, account).map(|old| old.hash());
        let queue = self.senders.get(&sender);
        let executable = queue.is_some_and(|queue| queue.queued_reason(nonce, &self.costs).is_none());
        Ok(AddedTransaction { hash, executable, replaced, evicted })
    }

    /// Returns the condition that a submission would wait for: an earlier nonce, a waiting predecessor, or
    /// lower base fees.
    fn queued_reason_if_added(
        &self,
        submission: &CheckedTransaction,
        account: &Account,
    ) -> Option<QueuedReason> {
        let nonce = submission.nonce();
        if let Some(queue) = self.senders.get(&submission.sender()) {
            let expected = queue.next_nonce(account.nonce);
            let gap = (expected < nonce).then_some(QueuedReason::NonceGap { expected });
            let mut predecessors = queue.all().iter().filter(|t| (account.nonce..nonce).contains(&t.nonce()));
            let is_queued = |t: &&Arc<PooledTransaction>| {
                queue.queued_reason(t.nonce(), &self.costs).is_some()
                    || self.queued_by_fees(t.fees()).is_some()
            };
            let predecessor =
                || Some(QueuedReason::Predecessor { nonce: predecessors.find(is_queued)?.nonce() });
            gap.or_else(predecessor).or_else(|| self.queued_by_fees(submission.fees()))
        } else if account.nonce < nonce {
            Some(QueuedReason::NonceGap { expected: account.nonce })
        } else {
            self.queued_by_fees(submission.fees())
        }
    }

    fn check_account(
        &self,
        submission: &CheckedTransaction,
        origin: Origin,
        account: &Account,
    ) -> Result<(), PoolError> {
        let nonce = submission.nonce();
        // The nonce is as good as used if the builder holds the transaction that has it.
        let is_held = origin == Origin::Submitted
            && self.replaced_transaction(submission).is_some_and(|held| self.held.contains(&held.hash()));
        let account_nonce = if is_held { nonce.saturating_add(1) } else { account.nonce };
        if nonce < account_nonce {
            let queue = self.senders.get(&submission.sender());
            let next_nonce = queue.map_or(account_nonce, |queue| queue.next_nonce(account_nonce));
            return Err(PoolError::NonceTooLow { nonce, account_nonce, next_nonce });
        }
        if origin == Origin::Submitted {
            self.costs.check(submission, account.balance)?;
        }
        Ok(())
    }

    fn check_replacement(&self, submission: &CheckedTransaction) -> Result<(), PoolError> {
        match self.replaced_transaction(submission) {
            Some(replaced) if !submission.fees().can_replace(replaced.fees()) => {
                let (offered, pooled) = (Box::new(*submission.fees()), Box::new(*replaced.fees()));
                Err(PoolError::ReplacementUnderpriced { offered, pooled })
            }
            _ => Ok(()),
        }
    }

    /// Returns the pooled transaction with the same sender and nonce.
    pub(crate) fn replaced_transaction(
        &self,
        submission: &CheckedTransaction,
    ) -> Option<&Arc<PooledTransaction>> {
        self.senders.get(&submission.sender())?.get(submission.nonce())
    }
}

/// Checks EIP-3607: an account with code cannot sign, unless the code is a delegation (EIP-7702).
fn check_code(account: &Account, state: &dyn StateReader) -> Result<(), PoolError> {
    if account.code_hash == KECCAK256_EMPTY || state.code(&account.code_hash)?.is_eip7702() {
        Ok(())
    } else {
        Err(PoolError::SenderHasCode)
    }
}

/// Returns the fees of L1 in a pending state; `None` if the chain is no OP chain.
pub(crate) fn l1_fees<H: PendingHead + ?Sized>(head: &H) -> Result<Option<L1Fees>, StateError> {
    let Some(OptimismHead { fork, .. }) = head.optimism() else { return Ok(None) };
    L1Fees::read(fork, |slot| head.state().storage(&L1_ATTRIBUTES_CONTRACT, &slot)).map(Some)
}
