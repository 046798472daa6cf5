//! Import of a complete external block: validation, execution and comparison of its roots.

use std::sync::Arc;

use alloy_consensus::{Eip658Value, Header};
use alloy_primitives::{B256, Bloom};
use foreseal_primitives::{
    Block, BlockBytes, ChainSpec, Envelope, Receipt, SpecId, StateDiff, Transaction, TransactionError,
    length_in_block, recover_all,
};
use foreseal_state::{BlockHashes, State, withdrawals_root};
use foreseal_trie::ordered_trie_root;

use crate::{
    block_error::{BlockError, expect},
    error::ExecutionError,
    executor::{BlockGas, Executor},
    header,
    system_calls::BlockBody,
};

/// A block that was executed, and the state after it.
#[derive(Clone)]
pub struct ExecutionOutput {
    pub block: Block,
    pub state: State,
    /// State changes of the block.
    pub diff: Arc<StateDiff>,
}

/// A block with everything that is computed without a state: its hash, the senders and the root of its
/// transactions.
#[derive(Clone, Debug)]
pub struct RecoveredBlock {
    block: BlockBytes,
    hash: B256,
    /// The transactions and the root of their trie. Execution reports an invalid signature, in its order.
    transactions: Result<(Vec<Arc<Transaction>>, B256), TransactionError>,
}

impl RecoveredBlock {
    /// Recovers the senders on all cores.
    pub fn new(block: BlockBytes) -> Self {
        let envelopes = block.transactions.clone();
        Self::with_envelopes(block, envelopes)
    }

    fn with_envelopes(block: BlockBytes, envelopes: Vec<Envelope>) -> Self {
        let transactions = recover_all(envelopes).map(|transactions| {
            let items = transactions.iter().map(|transaction| transaction.encoded().clone());
            let root = ordered_trie_root(items);
            (transactions, root)
        });
        Self { hash: block.header.hash_slow(), block, transactions }
    }

    /// Returns the header, which is not validated.
    pub fn header(&self) -> &Header {
        &self.block.header
    }

    /// Returns the hash of the header.
    pub fn hash(&self) -> B256 {
        self.hash
    }
}

/// Executes `block` on its parent's state and validates it. A proof-of-work seal and the headers of uncles
/// are not checked.
///
/// # Errors
/// Names the first field that differs, with the expected value, or the transaction that the block cannot
/// contain.
pub fn execute_block(
    spec: &ChainSpec,
    parent: &Header,
    parent_state: &State,
    hashes: &dyn BlockHashes,
    mut block: BlockBytes,
) -> Result<ExecutionOutput, BlockError> {
    header::validate(spec, parent, &block)?;
    let envelopes = std::mem::take(&mut block.transactions);
    execute_validated(spec, parent_state, hashes, &RecoveredBlock::with_envelopes(block, envelopes))
}

/// Executes a block like [`execute_block`], with senders that are already recovered.
///
/// # Errors
/// Same as [`execute_block`].
pub fn execute_recovered(
    spec: &ChainSpec,
    parent: &Header,
    parent_state: &State,
    hashes: &dyn BlockHashes,
    block: &RecoveredBlock,
) -> Result<ExecutionOutput, BlockError> {
    header::validate(spec, parent, &block.block)?;
    execute_validated(spec, parent_state, hashes, block)
}

fn execute_validated(
    spec: &ChainSpec,
    parent_state: &State,
    hashes: &dyn BlockHashes,
    block: &RecoveredBlock,
) -> Result<ExecutionOutput, BlockError> {
    let RecoveredBlock { block: BlockBytes { header, uncles, withdrawals, .. }, hash, transactions } = block;
    let (transactions, root) = transactions.as_ref().map_err(Clone::clone)?;
    expect("transactionsRoot", *root, header.transactions_root)?;
    let body = BlockBody { withdrawals: withdrawals.as_ref().map_or(&[], |list| list.as_slice()), uncles };
    let (state, receipts, diff) = run(spec, header, parent_state, hashes, transactions, body)?;
    expect("stateRoot", state.root(), header.state_root)?;
    let transactions_length = transactions.iter().map(|transaction| length_in_block(transaction)).sum();
    let block = Block {
        hash: *hash,
        header: header.clone(),
        transactions: transactions.into(),
        receipts: receipts.into(),
        uncles: uncles.clone(),
        withdrawals: withdrawals.clone(),
        transactions_length,
    };
    Ok(ExecutionOutput { block, state, diff: Arc::new(diff) })
}

/// Executes the body and checks the header's fields for receipts, gas and requests.
fn run(
    spec: &ChainSpec,
    header: &Header,
    parent_state: &State,
    hashes: &dyn BlockHashes,
    transactions: &[Arc<Transaction>],
    body: BlockBody<'_>,
) -> Result<(State, Vec<Arc<Receipt>>, StateDiff), BlockError> {
    let mut executor = Executor::new(spec, parent_state, hashes, header);
    executor.begin_block(header.parent_hash, header.parent_beacon_block_root)?;
    // Receipts before Byzantium carry the state root after their transaction (EIP-658).
    let with_roots = !executor.fork().is_enabled_in(SpecId::BYZANTIUM);
    let (mut state, mut diff) = (parent_state.clone(), StateDiff::default());
    let mut gas = BlockGas::default();
    let mut receipts = Vec::with_capacity(transactions.len());
    for (index, transaction) in transactions.iter().enumerate() {
        if let Some(count) = executor.lookahead() {
            executor.prefetch(transactions[index..].iter().take(count).map(AsRef::as_ref))?;
        }
        let mut receipt = executor
            .transact(transaction, &mut gas)
            .map_err(|error| BlockError::Transaction { index, error })?;
        if with_roots {
            let one = executor.drain_diff();
            state = state.apply(&one).map_err(ExecutionError::from)?;
            diff = diff.then(&one);
            receipt.status = Eip658Value::PostState(state.root());
        }
        receipts.push(Arc::new(receipt));
    }
    let requests = executor.end_block(receipts.iter().flat_map(|receipt| &receipt.logs), body)?;
    validate_outcome(header, gas, &receipts)?;
    header::validate_requests(requests.map(|requests| requests.requests_hash()), header)?;
    let last = executor.drain_diff();
    let state = state.apply(&last).map_err(ExecutionError::from)?;
    if spec.optimism().is_some() {
        let root = withdrawals_root(&state).map_err(ExecutionError::from)?;
        header::validate_withdrawals_root(root, header)?;
    }
    Ok((state, receipts, diff.then(&last)))
}

fn validate_outcome(header: &Header, gas: BlockGas, receipts: &[Arc<Receipt>]) -> Result<(), BlockError> {
    expect("gasUsed", gas.gas_used, header.gas_used)?;
    expect("blobGasUsed", gas.blob_gas_used, header.blob_gas_used.unwrap_or(0))?;
    let bloom = receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom);
    expect("logsBloom", bloom, header.logs_bloom)?;
    let items = receipts.iter().map(|receipt| {
        let mut out = Vec::new();
        receipt.encode_2718(&mut out);
        out.into()
    });
    expect("receiptsRoot", ordered_trie_root(items), header.receipts_root)
}
