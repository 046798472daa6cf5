//! Drafts: changes to the chain that are committed with one append and one swap of views.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use foreseal_builder::{BuildError, NextBlockAttributes, PendingBlock};
use foreseal_chain::{Chain, ChainError, Finality, Recorded};
use foreseal_evm::{ExecutionOutput, RejectedTransaction};
use foreseal_journal::Record;
use foreseal_keccak::keccak;
use foreseal_primitives::{
    Account, AccountDiff, Change, ChangedAccount, Flashblock, NewCode, Override, StateDiff, Transaction,
};
use foreseal_state::{State, StateError, StateReader};
use imbl::Vector;

use crate::produce::step_stamp::StepStamp;

/// A copy of the chain with changes, and the `records` that lead to it. Nothing is durable yet; dropping the
/// draft discards it.
pub(crate) struct ChainDraft {
    pub chain: Chain,
    pub records: Vec<Record>,
    /// Transactions that the chain held before and this one does not, oldest first; `None` unless the chain
    /// was unwound.
    pub returning: Option<Vec<Arc<Transaction>>>,
    /// Time and signer for the steps of the draft.
    pub stamp: StepStamp,
    /// Steps of the block that was being built when the draft began.
    pub before: Vector<Recorded>,
}

impl ChainDraft {
    pub fn new(chain: &Chain, stamp: StepStamp) -> Self {
        let before = chain.open_steps();
        Self { chain: chain.clone(), records: Vec::new(), returning: None, stamp, before }
    }

    /// Seals the block being built in its current form.
    pub fn seal(&mut self) -> Result<(), ChainError> {
        self.chain = self.chain.with_open_block_sealed()?;
        let sealed = self.chain.latest();
        self.records.push(Record::Seal { number: sealed.number(), hash: sealed.block.hash });
        Ok(())
    }

    /// Opens the next block.
    pub fn open(&mut self, opening: &NextBlockAttributes) -> Result<(), BuildError> {
        let (block, step) = self.chain.prepare_open(opening)?;
        self.start(block, step);
        Ok(())
    }

    /// Opens the next block with a prepared step 0.
    pub fn start(&mut self, block: PendingBlock, step: Flashblock) {
        let step = self.stamped(step);
        self.records.extend(opening_records(&step));
        self.chain.start_block(block, step);
    }

    /// Executes an external block on top of the newest sealed one, and does not add it.
    pub fn execute_next(&self, bytes: &[u8]) -> Result<ExecutionOutput, ChainError> {
        self.chain.execute_next(bytes)
    }

    /// Adds an executed external block, whose RLP is `bytes`.
    pub fn import_executed(&mut self, executed: ExecutionOutput, bytes: Bytes) -> Result<(), ChainError> {
        self.chain.add_executed(executed)?;
        self.records.push(Record::Import { block: bytes });
        Ok(())
    }

    /// Unwinds to sealed block `number` and leaves no block open.
    pub fn unwind(&mut self, number: u64) -> Result<(), ChainError> {
        let reorged = self.chain.unwind(number)?;
        self.records.push(Record::Unwind { number, hash: self.chain.latest().block.hash });
        // Only L1 or the driver can include a deposit again.
        let returning = reorged.into_iter().filter(|transaction| transaction.envelope().deposit().is_none());
        self.returning.get_or_insert_default().extend(returning);
        Ok(())
    }

    /// Sets the milliseconds by which the chain's clock is ahead of the wall clock.
    pub fn set_clock(&mut self, offset: i64) {
        if self.chain.clock_offset() != offset {
            self.chain.set_clock_offset(offset);
            self.records.push(Record::Clock { offset });
        }
    }

    /// Sets the safe and the finalized block.
    pub fn set_finality(&mut self, finality: Finality) {
        if self.chain.finality() != finality {
            let Finality { safe, finalized, trails } = finality;
            self.chain.set_finality(finality);
            self.records.push(Record::Finality { safe, finalized, trails });
        }
    }

    /// Adds a step of these transactions, in this order. Returns those that cannot run now, with the reasons.
    pub fn include(
        &mut self,
        transactions: &[Arc<Transaction>],
    ) -> Result<Vec<(B256, RejectedTransaction)>, BuildError> {
        let stepped = self.open_block().include(transactions, self.chain.hashes())?;
        if let Some((block, step)) = stepped.step {
            self.add(block, step);
        }
        Ok(stepped.rejected)
    }

    /// Adds an executed step of transactions. Returns it with its time and signature.
    pub fn add(&mut self, block: PendingBlock, step: Flashblock) -> Arc<Flashblock> {
        let step = self.stamped(step);
        self.records.push(Record::Step(step.clone()));
        self.chain.push_step(block, Recorded { step: step.clone(), change: None });
        step
    }

    /// Adds a step with an override by a development method. Returns its diff; `None` if it changes nothing.
    pub fn write(&mut self, change: &Override) -> Result<Option<Arc<StateDiff>>, BuildError> {
        let diff = diff_of(self.open_block().base(), change).map_err(foreseal_evm::ExecutionError::from)?;
        let Some((block, step)) = self.open_block().overridden(diff, self.chain.hashes())? else {
            return Ok(None);
        };
        let (diff, step) = (step.diff.clone(), self.stamped(step));
        self.records.push(Record::Override { change: change.clone(), step: step.clone() });
        self.chain.push_step(block, Recorded { step, change: Some(change.clone()) });
        Ok(Some(diff))
    }

    /// Re-adds a recorded step on top of the block that it was made on, with its original time and signature.
    pub fn repeat(&mut self, recorded: &Recorded) -> Result<(), ChainError> {
        self.chain.replay_step(&recorded.step, recorded.change.as_ref())?;
        match &recorded.change {
            Some(change) => {
                let (change, step) = (change.clone(), recorded.step.clone());
                self.records.push(Record::Override { change, step });
            }
            None if recorded.step.index == 0 => self.records.extend(opening_records(&recorded.step)),
            None => self.records.push(Record::Step(recorded.step.clone())),
        }
        Ok(())
    }

    /// Completes a new step with time and signature. If an identical step existed before the draft, its time
    /// and signature are reused, because clients may have seen them.
    fn stamped(&self, step: Flashblock) -> Arc<Flashblock> {
        let at = |step: &Flashblock| (step.number, step.hash, step.previous);
        let index = usize::try_from(step.index).ok();
        match index.and_then(|index| self.before.get(index)) {
            Some(known) if at(&known.step) == at(&step) => {
                let Flashblock { time, signature, .. } = *known.step;
                Arc::new(Flashblock { time, signature, ..step })
            }
            _ => self.stamp.stamp_and_sign(step),
        }
    }

    fn open_block(&self) -> &PendingBlock {
        self.chain.open_block().expect("called with an open block")
    }
}

/// Returns the journal records of a newly opened block: its header, then its step 0.
pub(crate) fn opening_records(step: &Arc<Flashblock>) -> [Record; 2] {
    [Record::Open { header: Box::new(step.header.clone()) }, Record::Step(step.clone())]
}

/// Returns the effect of an override on `state`, in absolute values.
pub(crate) fn diff_of(state: &State, one: &Override) -> Result<StateDiff, StateError> {
    let address = one.address;
    let mut account = state.account(&address)?.unwrap_or_default();
    let (mut storage, mut codes) = (Vec::new(), Vec::new());
    match &one.change {
        Change::Balance(wei) => account.balance = *wei,
        Change::Nonce(nonce) => account.nonce = *nonce,
        Change::Code(code) if code.is_empty() => account.code_hash = Account::default().code_hash,
        Change::Code(code) => {
            account.code_hash = keccak(code);
            codes.push(NewCode { hash: account.code_hash, code: code.clone() });
        }
        Change::Slot { slot, value } => storage.push((*slot, *value)),
    }
    let stores = storage.iter().any(|(_, value)| !value.is_zero()) || state.has_storage(&address)?;
    // An empty account does not exist (EIP-161).
    let account = (stores || !account.is_empty()).then_some(account);
    let diff = AccountDiff { account, wiped: false, storage };
    Ok(StateDiff { accounts: vec![ChangedAccount { address, diff }], codes })
}
