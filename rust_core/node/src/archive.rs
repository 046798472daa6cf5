//! The history behind a small cache, and the states of steps made again.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_evm::{BlockBody, BlockGas, Executor};
use foreseal_state::{BlockHashes, State, StateError};
use foreseal_types::{Block, ChainSpec};

use crate::{Executed, History, Moment, Position, Step, cache::Cache};

/// What cached blocks may weigh together: a transaction counts 1.
const BLOCKS_WEIGHT: usize = 32_768;
/// What a block weighs without its transactions.
const BLOCK_WEIGHT: usize = 256;
/// States of steps that are kept.
const STATES: usize = 64;

/// Older sealed blocks, as one generation of views sees them.
#[derive(Debug)]
pub(crate) struct Archive {
    history: Arc<dyn History>,
    blocks: Cache<u64, Arc<Executed>>,
    states: Cache<B256, State>,
}

impl Archive {
    pub fn new(history: Arc<dyn History>) -> Self {
        Self { history, blocks: Cache::new(BLOCKS_WEIGHT), states: Cache::new(STATES) }
    }

    pub fn confirmed(&self) -> Option<u64> {
        self.history.confirmed()
    }

    pub fn block(&self, number: u64) -> Result<Option<Arc<Executed>>, StateError> {
        if let Some(block) = self.blocks.get(&number) {
            return Ok(Some(block));
        }
        let Some(block) = self.history.block(number)? else { return Ok(None) };
        self.blocks.insert(number, block.clone(), BLOCK_WEIGHT + block.block.transactions.len());
        Ok(Some(block))
    }

    pub fn moment(&self, number: u64) -> Result<Option<Moment>, StateError> {
        match self.blocks.get(&number) {
            Some(block) => Ok(Some(Moment::of(block))),
            None => self.history.moment(number),
        }
    }

    pub fn hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        self.history.hash(number)
    }

    pub fn step(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        self.history.step(hash)
    }

    pub fn transaction(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        self.history.transaction(hash)
    }

    /// The state at a step that `block` went through, by executing the block up to it.
    pub fn state_at(
        &self,
        spec: &ChainSpec,
        hashes: &dyn BlockHashes,
        block: &Block,
        step: &Step,
    ) -> Result<State, StateError> {
        if let Some(state) = self.states.get(&step.hash) {
            return Ok(state);
        }
        let failed = |why: String| {
            StateError::Store(format!("the state at step {} cannot be made again: {why}", step.hash))
        };
        let before = block.header.number.checked_sub(1).map(|parent| self.moment(parent)).transpose()?;
        let parent = before.flatten().ok_or_else(|| failed("its parent is not stored".to_owned()))?;
        let state = execute_to(spec, hashes, &parent, block, step)?;
        let (want, got) = (step.header.state_root, state.root());
        if want != got {
            return Err(failed(format!("its root is {want}, execution gives {got}")));
        }
        self.states.insert(step.hash, state.clone(), 1);
        Ok(state)
    }
}

/// Executes the block's first transactions, as many as the step holds, and the end of the block on top.
fn execute_to(
    spec: &ChainSpec,
    hashes: &dyn BlockHashes,
    parent: &Moment,
    block: &Block,
    step: &Step,
) -> Result<State, StateError> {
    let failed = |error: foreseal_evm::ExecutionError| match error {
        foreseal_evm::ExecutionError::State(error) => error,
        error => StateError::Store(format!("step {} does not execute again: {error}", step.hash)),
    };
    let mut executor = Executor::new(spec, parent.state(), hashes, &step.header);
    executor.begin_block(step.header.parent_hash, step.header.parent_beacon_block_root).map_err(failed)?;
    let mut gas = BlockGas::default();
    for transaction in block.transactions.iter().take(step.transactions) {
        executor.transact(transaction, &mut gas).map_err(failed)?;
    }
    let logs = block.receipts.iter().take(step.transactions).flat_map(|receipt| &receipt.logs);
    executor.end_block(logs, BlockBody::default()).map_err(failed)?;
    Ok(parent.state().apply(&executor.take_diff()))
}
