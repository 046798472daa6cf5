//! The block being built.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_eips::{
    eip4895::{Withdrawal, Withdrawals},
    eip7685::Requests,
};
use alloy_primitives::B256;
use foreseal_evm::{BlockBody, BlockGas, EndOfBlock, ExecutionError, Executor, end_block};
use foreseal_primitives::{Block, ChainSpec, Flashblock, Receipt, SpecId, StateDiff, Transaction};
use foreseal_state::{BlockHashes, State, withdrawals_root};

use crate::{
    block_attributes::NextBlockAttributes,
    body::{Body, StepContents, blob_gas, join_if},
    errors::BuildError,
};

/// The parent of a block that is opened.
#[derive(Clone, Copy, Debug)]
pub struct ParentBlock<'a> {
    pub header: &'a Header,
    pub hash: B256,
    pub state: &'a State,
}

/// Transactions of a new step, and their effects.
pub(crate) struct ExecutedStep {
    pub transactions: Vec<Arc<Transaction>>,
    pub receipts: Vec<Arc<Receipt>>,
    pub diff: Arc<StateDiff>,
    /// Blob gas of the block up to the step.
    pub blob_gas_used: u64,
}

impl ExecutedStep {
    fn contents(&self) -> StepContents<'_> {
        let Self { transactions, receipts, diff, blob_gas_used } = self;
        StepContents { transactions, receipts, diff, blob_gas_used: *blob_gas_used }
    }
}

/// A block after one of its steps. Immutable: a step makes a new value, so a step that could not be made
/// durable leaves nothing behind.
#[derive(Clone, Debug)]
pub struct PendingBlock {
    pub(crate) spec: Arc<ChainSpec>,
    /// Header fields fixed at opening. Each step fills in the roots and sums.
    template: Header,
    pub(crate) body: Body,
    /// Withdrawals of the block (EIP-4895). Blocks of this chain have none.
    withdrawals: Arc<[Withdrawal]>,
    /// State after the transactions, without end-of-block processing. The next step builds on it.
    pub(crate) base: State,
    /// State as if the block were sealed now.
    tip: State,
    header: Header,
    hash: B256,
    index: u64,
}

impl PendingBlock {
    /// Opens the block after `parent`: runs the opening system calls (EIP-4788, EIP-2935) and makes step 0, which
    /// contains the transactions of `attributes`.
    ///
    /// # Errors
    /// Returns [`BuildError::FirstTransaction`] if one of these transactions cannot be executed.
    pub fn open(
        spec: &Arc<ChainSpec>,
        parent: ParentBlock<'_>,
        attributes: &NextBlockAttributes,
        hashes: &dyn BlockHashes,
    ) -> Result<(Self, Flashblock), BuildError> {
        let template = attributes.header(spec, parent.header, parent.hash)?;
        let withdrawals = attributes.withdrawals.iter().copied().collect();
        let empty = Self { withdrawals, ..Self::empty(spec, parent, template) };
        let mut executor = Executor::new(spec, parent.state, hashes, &empty.template);
        executor.begin_block(parent.hash, empty.template.parent_beacon_block_root)?;
        let mut gas = BlockGas::default();
        let mut receipts = Vec::with_capacity(attributes.transactions.len());
        for (index, transaction) in attributes.transactions.iter().enumerate() {
            let receipt = executor.transact(transaction, &mut gas).map_err(|error| match error {
                ExecutionError::Rejected(reason) => {
                    BuildError::FirstTransaction { index, hash: transaction.hash(), reason }
                }
                error => error.into(),
            })?;
            receipts.push(Arc::new(receipt));
        }
        let diff = Arc::new(executor.drain_diff());
        drop(executor);
        let transactions = attributes.transactions.clone();
        let executed = ExecutedStep { transactions, receipts, diff, blob_gas_used: gas.blob_gas_used };
        empty.build_step(executed, hashes, parent.hash, 0)
    }

    /// Returns the block before its step 0.
    fn empty(spec: &Arc<ChainSpec>, parent: ParentBlock<'_>, template: Header) -> Self {
        Self {
            spec: spec.clone(),
            header: template.clone(),
            template,
            body: Body::default(),
            withdrawals: Arc::default(),
            base: parent.state.clone(),
            tip: parent.state.clone(),
            hash: parent.hash,
            index: 0,
        }
    }

    /// Reopens a block from its recorded step 0.
    pub fn resume(
        spec: &Arc<ChainSpec>,
        parent: ParentBlock<'_>,
        step: &Flashblock,
    ) -> Result<Self, BuildError> {
        let (number, index) = (step.number, step.index);
        let out_of_order = |what| BuildError::OutOfOrder { number, index, what };
        if step.index != 0 || step.number != parent.header.number + 1 {
            return Err(out_of_order("it is not the first step of the next block"));
        }
        if step.previous != parent.hash || step.header.parent_hash != parent.hash {
            return Err(out_of_order("its parent is another block"));
        }
        Self::empty(spec, parent, step.header.clone()).replay(step)
    }

    /// Returns the block after a recorded step. Recomputes every root and rejects a record that does not
    /// match.
    pub fn apply(&self, step: &Flashblock) -> Result<Self, BuildError> {
        let (number, index) = (step.number, step.index);
        let out_of_order = |what| BuildError::OutOfOrder { number, index, what };
        if step.number != self.template.number || step.index != self.index + 1 {
            return Err(out_of_order("its position is wrong"));
        }
        if step.previous != self.hash {
            return Err(out_of_order("its parent is another step"));
        }
        self.replay(step)
    }

    fn replay(&self, step: &Flashblock) -> Result<Self, BuildError> {
        let end =
            |_: &State, _: &Body| Ok((step.header.requests_hash, StateDiff::clone(&step.end_of_block_diff)));
        // The footprint of data on an OP chain depends on parameters in the state, so it is the recorded one.
        let blob_gas_used = if self.spec.optimism().is_some() {
            step.header.blob_gas_used.unwrap_or(0)
        } else {
            self.body.blob_gas_used + step.transactions.iter().map(|one| blob_gas(one)).sum::<u64>()
        };
        let contents = StepContents {
            transactions: &step.transactions,
            receipts: &step.receipts,
            diff: &step.diff,
            blob_gas_used,
        };
        let (next, _) = self.apply_step_and_compute_roots(contents, step.index, end)?;
        if next.hash != step.hash {
            return Err(BuildError::HashMismatch {
                number: step.number,
                index: step.index,
                computed: next.hash,
                recorded: step.hash,
            });
        }
        Ok(next)
    }

    /// Returns the block after executed transactions and its flashblock, whose time and signature are not set
    /// yet.
    pub(crate) fn build_step(
        &self,
        executed: ExecutedStep,
        hashes: &dyn BlockHashes,
        previous: B256,
        index: u64,
    ) -> Result<(Self, Flashblock), BuildError> {
        let end = |state: &State, body: &Body| {
            let EndOfBlock { requests, diff } = self.run_end_of_block(state, body, hashes)?;
            Ok((requests.map(|requests| requests.requests_hash()), diff))
        };
        let (next, tail) = self.apply_step_and_compute_roots(executed.contents(), index, end)?;
        let ExecutedStep { transactions, receipts, diff, .. } = executed;
        let flashblock = Flashblock {
            number: next.template.number,
            index,
            previous,
            header: next.header.clone(),
            hash: next.hash,
            time: 0,
            signature: None,
            transactions,
            receipts,
            diff,
            end_of_block_diff: Arc::new(tail),
        };
        Ok((next, flashblock))
    }

    /// Runs end-of-block processing on the state after the transactions.
    fn run_end_of_block(
        &self,
        state: &State,
        body: &Body,
        hashes: &dyn BlockHashes,
    ) -> Result<EndOfBlock, ExecutionError> {
        let logs = body.receipts.iter().flat_map(|receipt| &receipt.logs);
        let rest = BlockBody { withdrawals: &self.withdrawals, uncles: &[] };
        end_block(&self.spec, state, hashes, &self.template, logs, rest)
    }

    /// Returns the block's requests to the consensus layer if it were sealed now (EIP-7685); `None` before
    /// Prague.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read or a system contract fails.
    pub fn requests(&self, hashes: &dyn BlockHashes) -> Result<Option<Requests>, ExecutionError> {
        self.run_end_of_block(&self.base, &self.body, hashes).map(|end| end.requests)
    }

    /// Computes state and lists in parallel, then runs end-of-block processing, then builds the header from
    /// both.
    fn apply_step_and_compute_roots(
        &self,
        step: StepContents<'_>,
        index: u64,
        end: impl FnOnce(&State, &Body) -> Result<(Option<B256>, StateDiff), BuildError>,
    ) -> Result<(Self, StateDiff), BuildError> {
        let (state, lists) = (|| self.base.apply(step.diff), || self.body.with_step(step));
        let (base, body) = join_if(step.is_large(), state, lists);
        let base = base.map_err(ExecutionError::from)?;
        let (requests_hash, tail) = end(&base, &body)?;
        let tip =
            if tail.is_empty() { base.clone() } else { base.apply(&tail).map_err(ExecutionError::from)? };
        let withdrawals_root = if self.spec.optimism().is_some() {
            Some(withdrawals_root(&tip).map_err(ExecutionError::from)?)
        } else {
            self.template.withdrawals_root
        };
        let header = Header {
            state_root: tip.root(),
            withdrawals_root,
            transactions_root: body.transactions_root(),
            receipts_root: body.receipts_root(),
            logs_bloom: body.bloom,
            gas_used: body.gas_used(),
            blob_gas_used: self.template.blob_gas_used.map(|_| body.blob_gas_used),
            requests_hash,
            ..self.template.clone()
        };
        let hash = header.hash_slow();
        let spec = self.spec.clone();
        let template = self.template.clone();
        let withdrawals = self.withdrawals.clone();
        Ok((Self { spec, template, body, withdrawals, base, tip, header, hash, index }, tail))
    }

    /// Returns the hash of the fields that are fixed at opening.
    pub(crate) fn template_hash(&self) -> B256 {
        self.template.hash_slow()
    }

    /// Returns the block's number.
    pub fn number(&self) -> u64 {
        self.template.number
    }

    /// Returns the index of the newest step.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the hash of the newest step, which is the block's hash if it were sealed now.
    pub fn hash(&self) -> B256 {
        self.hash
    }

    /// Returns the block's header after the newest step.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the state on which the next step builds, without end-of-block processing.
    pub fn base(&self) -> &State {
        &self.base
    }

    /// Returns the state after the newest step, end-of-block processing included.
    pub fn state(&self) -> &State {
        &self.tip
    }

    /// Returns the block after the newest step.
    pub fn block(&self) -> Block {
        Block {
            header: self.header.clone(),
            hash: self.hash,
            transactions: self.body.transactions.clone(),
            receipts: self.body.receipts.clone(),
            uncles: Vec::new(),
            withdrawals: self.header.withdrawals_root.map(|_| Withdrawals::new(self.withdrawals.to_vec())),
            transactions_length: self.body.transactions_length,
        }
    }

    /// Returns the fork whose rules apply to the block.
    pub fn fork(&self) -> SpecId {
        self.spec.fork(&self.template)
    }
}
