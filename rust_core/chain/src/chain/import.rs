//! External blocks: their execution, on the chain or on a branch, and their addition.

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_builder::ParentBlock;
use foreseal_evm::{
    BlockError, ExecutionError, ExecutionOutput, RecoveredBlock, execute_block, execute_recovered,
    validate_transition,
};
use foreseal_primitives::BlockBytes;
use foreseal_state::{BlockHashes, StateError};
use imbl::Vector;

use super::{Chain, ChainError, out_of_order};
use crate::{
    executed_block::ExecutedBlock,
    finality::Finality,
    memory_size::{block_size, changes_size},
};

/// Block hashes that a block of a branch sees: those of the branch, then those of the chain.
#[derive(Clone, Debug)]
pub struct BranchHashes<'a> {
    pub chain: &'a Chain,
    /// Numbers and hashes of the branch.
    pub branch: Vec<(u64, B256)>,
}

impl BlockHashes for BranchHashes<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        match self.branch.iter().find(|(at, _)| *at == number) {
            Some((_, hash)) => Ok(Some(*hash)),
            None => self.chain.sealed.hash(number),
        }
    }
}

impl ChainError {
    /// Returns the oldest block whose trie nodes are stored, if the chain was read as of an older one.
    pub fn oldest_stored_nodes(&self) -> Option<u64> {
        let Self::Block { source: BlockError::Execution(ExecutionError::State(error)), .. } = self else {
            return None;
        };
        if let StateError::Pruned { oldest, .. } = error { Some(*oldest) } else { None }
    }
}

impl Chain {
    /// Executes an external block on top of the newest sealed one, and makes it safe and finalized.
    ///
    /// An open block without transactions is dropped; one with pre-confirmed transactions never is.
    pub fn import(&mut self, bytes: &[u8]) -> Result<(), ChainError> {
        self.add_executed(self.execute_next(bytes)?)
    }

    /// Executes an external block on top of the newest sealed one, and does not add it.
    pub fn execute_next(&self, bytes: &[u8]) -> Result<ExecutionOutput, ChainError> {
        let block: BlockBytes = alloy_rlp::decode_exact(bytes).map_err(ChainError::NotABlock)?;
        let number = block.header.number;
        self.validate_transition(&block.header)
            .and_then(|()| self.execute_after(self.parent(), &self.sealed, block))
            .map_err(|source| ChainError::Block { number, source })
    }

    /// Imports a block like [`Self::import`], with senders that are already recovered.
    pub fn import_recovered(&mut self, block: &RecoveredBlock) -> Result<(), ChainError> {
        let (number, parent) = (block.header().number, self.parent());
        let executed = self
            .validate_transition(block.header())
            .and_then(|()| execute_recovered(&self.spec, parent.header, parent.state, &self.sealed, block));
        self.add_executed(executed.map_err(|source| ChainError::Block { number, source })?)
    }

    /// Checks that the next block has the proof that the total difficulty of the chain requires.
    fn validate_transition(&self, header: &Header) -> Result<(), BlockError> {
        validate_transition(&self.spec, self.parent().header, self.total_difficulty, header)
    }

    /// Returns `true` if the sealed chain has a block with this number and hash.
    pub fn has_block(&self, number: u64, hash: B256) -> Result<bool, StateError> {
        Ok(self.sealed.hash(number)? == Some(hash))
    }

    /// Executes an external block after `parent`, which need not be on the chain, and validates it.
    ///
    /// # Errors
    /// Names the first difference between the block and its execution.
    pub fn execute_after(
        &self,
        parent: ParentBlock<'_>,
        hashes: &dyn BlockHashes,
        block: BlockBytes,
    ) -> Result<ExecutionOutput, BlockError> {
        execute_block(&self.spec, parent.header, parent.state, hashes, block)
    }

    /// Makes an executed external block the newest sealed one, and makes it safe and finalized.
    ///
    /// # Errors
    /// Returns an error if it does not follow the newest sealed block, or if a block with transactions of users is
    /// being built.
    pub fn add_executed(&mut self, executed: ExecutionOutput) -> Result<(), ChainError> {
        let number = executed.block.header.number;
        let refused = |why| Err(out_of_order(number, "imported", why));
        if executed.block.header.parent_hash != self.latest().block.hash {
            return refused("it does not follow the newest sealed block");
        }
        if self.open.as_ref().is_some_and(|open| open.block.index() > 0) {
            return refused("a block with pre-confirmed transactions is being built");
        }
        if let Some(open) = self.open.take() {
            self.reorged.push(&open.executed());
        }
        for (index, transaction) in executed.block.transactions.iter().enumerate() {
            self.lookup.add_transaction(transaction.hash(), number, index);
        }
        self.lookup.add_step(executed.block.hash, number, 0);
        let (block, state) = (executed.block, executed.state);
        self.finality = Finality { safe: number, finalized: number, ..self.finality };
        let memory_size = block_size(&block) + changes_size(&executed.diff);
        let (steps, written) = (Vector::new(), Vector::new());
        let executed_block = ExecutedBlock { block, state, steps, written, memory_size };
        self.push_sealed(executed_block, vec![executed.diff]);
        drop(self.remove_stored());
        Ok(())
    }
}
