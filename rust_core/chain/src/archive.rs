//! Cache in front of the block history, and re-execution of the states of steps.

use std::{ops::Range, sync::Arc};

use alloy_primitives::B256;
use foreseal_evm::{BlockBody, BlockGas, ExecutionError, Executor};
use foreseal_primitives::ChainSpec;
use foreseal_state::{BlockHashes, State, StateError, StateStore};

use crate::{
    archive_caches::ArchiveCaches,
    block_counts::BlockCounts,
    executed_block::{ExecutedBlock, Step},
    hash_index::Position,
    header_and_state::HeaderAndState,
    history::History,
};

/// Cached access to older sealed blocks. The chain replaces it after an unwind.
#[derive(Debug)]
pub(crate) struct Archive {
    history: Arc<dyn History>,
    caches: ArchiveCaches,
}

impl Archive {
    pub fn new(history: Arc<dyn History>, caches: ArchiveCaches) -> Self {
        Self { history, caches }
    }

    pub fn caches(&self) -> &ArchiveCaches {
        &self.caches
    }

    pub fn confirmed(&self) -> Option<u64> {
        self.history.confirmed()
    }

    pub fn states(&self) -> Option<Arc<dyn StateStore>> {
        self.history.states()
    }

    pub fn block(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        if let Some(block) = self.caches.blocks.get(&number) {
            return Ok(Some(block));
        }
        let Some(block) = self.history.block(number)? else { return Ok(None) };
        self.caches.insert_block(number, &block);
        Ok(Some(block))
    }

    /// Returns the block if it is cached; the history is not read.
    pub fn cached_block(&self, number: u64) -> Option<Arc<ExecutedBlock>> {
        self.caches.blocks.get(&number)
    }

    pub fn history(&self) -> &Arc<dyn History> {
        &self.history
    }

    pub fn header_and_state(&self, number: u64) -> Result<Option<HeaderAndState>, StateError> {
        match self.caches.blocks.get(&number) {
            Some(block) => Ok(Some(HeaderAndState::from_block(block))),
            None => self.history.header_and_state(number),
        }
    }

    pub fn counts(&self, number: u64) -> Result<Option<BlockCounts>, StateError> {
        match self.caches.blocks.get(&number) {
            Some(block) => Ok(Some(BlockCounts::new(&block))),
            None => self.history.counts(number),
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

    /// Returns the state after a step of `block`, by executing the block up to that step.
    pub fn state_at(
        &self,
        spec: &ChainSpec,
        hashes: &dyn BlockHashes,
        block: &ExecutedBlock,
        (step, index): (&Step, usize),
    ) -> Result<State, StateError> {
        if let Some(state) = self.caches.states.get(&step.hash) {
            return Ok(state);
        }
        let failed = |why: String| {
            StateError::Store(format!("the state at step {} cannot be re-executed: {why}", step.hash))
        };
        let before = block.number().checked_sub(1).map(|parent| self.header_and_state(parent)).transpose()?;
        let parent = before.flatten().ok_or_else(|| failed("its parent is not stored".to_owned()))?;
        let again = Reexecution { spec, hashes, block, step };
        let state = again.execute(parent.state(), index)?;
        let (want, got) = (step.header.state_root, state.root());
        if want != got {
            return Err(failed(format!("its root is {want}, but execution results in {got}")));
        }
        self.caches.insert_state(step, &state);
        Ok(state)
    }
}

/// Re-execution of a block up to one of its steps.
struct Reexecution<'a> {
    spec: &'a ChainSpec,
    hashes: &'a dyn BlockHashes,
    block: &'a ExecutedBlock,
    step: &'a Step,
}

impl Reexecution<'_> {
    /// Executes the block's first transactions, as many as the step holds, and applies the diffs written
    /// between them. End-of-block processing follows. `index` is the index of the step.
    fn execute(&self, parent: &State, index: usize) -> Result<State, StateError> {
        let Self { step, block, .. } = self;
        let mut executor = self.executor(parent);
        let (parent_hash, beacon_root) = (step.header.parent_hash, step.header.parent_beacon_block_root);
        executor.begin_block(parent_hash, beacon_root).map_err(|error| self.failed(error))?;
        let mut state = parent.apply(&executor.drain_diff())?;
        drop(executor);
        let (mut gas, mut done) = (BlockGas::default(), 0);
        for written in block.written.iter().filter(|written| written.step <= index) {
            state = self.run(&state, done..written.transactions, &mut gas)?.apply(&written.diff)?;
            done = written.transactions;
        }
        let state = self.run(&state, done..step.transactions, &mut gas)?;
        let mut executor = self.executor(&state);
        let logs = block.block.receipts.iter().take(step.transactions).flat_map(|receipt| &receipt.logs);
        executor.end_block(logs, BlockBody::default()).map_err(|error| self.failed(error))?;
        let diff = executor.drain_diff();
        drop(executor);
        state.apply(&diff)
    }

    fn run(&self, state: &State, range: Range<usize>, gas: &mut BlockGas) -> Result<State, StateError> {
        let mut executor = self.executor(state);
        for transaction in self.block.block.transactions.iter().take(range.end).skip(range.start) {
            executor.transact(transaction, gas).map_err(|error| self.failed(error))?;
        }
        state.apply(&executor.drain_diff())
    }

    fn executor<'s>(&'s self, state: &'s State) -> Executor<'s> {
        Executor::new(self.spec, state, self.hashes, &self.step.header)
    }

    fn failed(&self, error: ExecutionError) -> StateError {
        match error {
            ExecutionError::State(error) => error,
            error => StateError::Store(format!("step {} cannot be re-executed: {error}", self.step.hash)),
        }
    }
}
