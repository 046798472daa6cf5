//! The block being built.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::B256;
use foreseal_evm::{BlockBody, EndOfBlock, ExecutionError, Executor, end_block};
use foreseal_state::{BlockHashes, State};
use foreseal_types::{Block, ChainSpec, Flashblock, Receipt, SpecId, StateDiff, Transaction, mutant};

use crate::{Body, BuildError, Opening};

/// The block a new one is opened on.
#[derive(Clone, Copy, Debug)]
pub struct Parent<'a> {
    pub header: &'a Header,
    pub hash: B256,
    pub state: &'a State,
}

/// A block as it stands after one of its steps. Immutable: a step makes the next value, so that a step which
/// could not be made durable leaves nothing behind.
#[derive(Clone, Debug)]
pub struct OpenBlock {
    pub(crate) spec: Arc<ChainSpec>,
    /// Fields fixed at opening; roots and sums are filled in per step.
    template: Header,
    pub(crate) body: Body,
    /// The state after the transactions, without end-of-block processing: what the next step builds on.
    pub(crate) base: State,
    /// The state as if the block were sealed now.
    tip: State,
    header: Header,
    hash: B256,
    index: u64,
}

impl OpenBlock {
    /// Opens the block after `parent`: runs the opening system calls (EIP-4788, EIP-2935) and makes step 0.
    pub fn open(
        spec: &Arc<ChainSpec>,
        parent: Parent<'_>,
        opening: &Opening,
        hashes: &dyn BlockHashes,
    ) -> Result<(Self, Flashblock), BuildError> {
        let template = opening.header(spec, parent.header, parent.hash)?;
        let unopened = Self::unopened(spec, parent, template);
        let mut executor = Executor::new(spec, parent.state, hashes, &unopened.template);
        executor.begin_block(parent.hash, unopened.template.parent_beacon_block_root)?;
        let diff = Arc::new(executor.take_diff());
        drop(executor);
        unopened.advanced(Vec::new(), Vec::new(), diff, hashes, parent.hash, 0)
    }

    /// The block before its step 0.
    fn unopened(spec: &Arc<ChainSpec>, parent: Parent<'_>, template: Header) -> Self {
        Self {
            spec: spec.clone(),
            header: template.clone(),
            template,
            body: Body::default(),
            base: parent.state.clone(),
            tip: parent.state.clone(),
            hash: parent.hash,
            index: 0,
        }
    }

    /// Opens a block again from its recorded step 0.
    pub fn reopen(spec: &Arc<ChainSpec>, parent: Parent<'_>, step: &Flashblock) -> Result<Self, BuildError> {
        let (number, index) = (step.number, step.index);
        let out_of_order = |what| BuildError::OutOfOrder { number, index, what };
        if step.index != 0 || step.number != parent.header.number + 1 {
            return Err(out_of_order("it is not the first step of the next block"));
        }
        if step.previous != parent.hash || step.header.parent_hash != parent.hash {
            return Err(out_of_order("its parent is another block"));
        }
        Self::unopened(spec, parent, step.header.clone()).replayed(step)
    }

    /// The block after a recorded step. Recomputes every root and refuses a record that does not agree.
    pub fn apply(&self, step: &Flashblock) -> Result<Self, BuildError> {
        let (number, index) = (step.number, step.index);
        let out_of_order = |what| BuildError::OutOfOrder { number, index, what };
        if step.number != self.template.number || step.index != self.index + 1 {
            return Err(out_of_order("its position is wrong"));
        }
        if step.previous != self.hash {
            return Err(out_of_order("it was made on another step"));
        }
        self.replayed(step)
    }

    fn replayed(&self, step: &Flashblock) -> Result<Self, BuildError> {
        let end = |_: &State, _: &Body| {
            Ok(EndOfBlock { requests_hash: step.header.requests_hash, diff: StateDiff::clone(&step.tail) })
        };
        let (next, _) = self.extended(&step.transactions, &step.receipts, &step.diff, step.index, end)?;
        if next.hash != step.hash && !mutant!("trust-the-record") {
            return Err(BuildError::HashMismatch {
                number: step.number,
                index: step.index,
                computed: next.hash,
                recorded: step.hash,
            });
        }
        Ok(next)
    }

    /// The block after executed transactions, and the flashblock that says so, without its time and signature.
    pub(crate) fn advanced(
        &self,
        transactions: Vec<Arc<Transaction>>,
        receipts: Vec<Arc<Receipt>>,
        diff: Arc<StateDiff>,
        hashes: &dyn BlockHashes,
        previous: B256,
        index: u64,
    ) -> Result<(Self, Flashblock), BuildError> {
        let end = |state: &State, body: &Body| {
            let logs = body.receipts.iter().flat_map(|receipt| &receipt.logs);
            Ok(end_block(&self.spec, state, hashes, &self.template, logs, BlockBody::default())?)
        };
        let (next, tail) = self.extended(&transactions, &receipts, &diff, index, end)?;
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
            tail: Arc::new(tail),
        };
        Ok((next, flashblock))
    }

    /// State and lists side by side, then end-of-block processing, then the header over both.
    fn extended(
        &self,
        transactions: &[Arc<Transaction>],
        receipts: &[Arc<Receipt>],
        diff: &StateDiff,
        index: u64,
        end: impl FnOnce(&State, &Body) -> Result<EndOfBlock, BuildError>,
    ) -> Result<(Self, StateDiff), BuildError> {
        let (state, lists) = (|| self.base.apply(diff), || self.body.extended(transactions, receipts));
        // Waking another thread takes longer than a step of nothing.
        let (base, body) =
            if transactions.is_empty() { (state(), lists()) } else { rayon::join(state, lists) };
        let base = base.map_err(ExecutionError::from)?;
        let EndOfBlock { requests_hash, diff: tail } = end(&base, &body)?;
        let tip =
            if tail.is_empty() { base.clone() } else { base.apply(&tail).map_err(ExecutionError::from)? };
        let header = Header {
            state_root: tip.root(),
            transactions_root: body.transactions_root(),
            receipts_root: body.receipts_root(),
            logs_bloom: body.bloom,
            gas_used: body.gas_used(),
            blob_gas_used: self.template.blob_gas_used.map(|_| body.blob_gas_used),
            requests_hash,
            ..self.template.clone()
        };
        let hash = header.hash_slow();
        let base = if mutant!("carry-the-tail") { tip.clone() } else { base };
        let index = if mutant!("index-stands-still") { index.min(1) } else { index };
        let spec = self.spec.clone();
        let template = self.template.clone();
        Ok((Self { spec, template, body, base, tip, header, hash, index }, tail))
    }

    /// The block's number.
    pub fn number(&self) -> u64 {
        self.template.number
    }

    /// Index of the newest step.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Hash of the newest step: the block's hash if it were sealed now.
    pub fn hash(&self) -> B256 {
        self.hash
    }

    /// The block's header as of the newest step.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The state on which the next step builds: without end-of-block processing.
    pub fn base(&self) -> &State {
        &self.base
    }

    /// The state as of the newest step, end-of-block processing included.
    pub fn state(&self) -> &State {
        &self.tip
    }

    /// The block as of the newest step.
    pub fn block(&self) -> Block {
        Block {
            header: self.header.clone(),
            hash: self.hash,
            transactions: self.body.transactions.clone(),
            receipts: self.body.receipts.clone(),
            uncles: Vec::new(),
            withdrawals: self.header.withdrawals_root.map(|_| Withdrawals::default()),
            transactions_length: self.body.transactions_length,
        }
    }

    /// The fork whose rules the block follows.
    pub fn fork(&self) -> SpecId {
        self.spec.fork(&self.template)
    }
}
