//! The immutable snapshot that serves every read, sealed and pending alike.

use std::sync::{Arc, OnceLock};

use alloy_primitives::B256;
use foreseal_cache::CacheMetrics;
use foreseal_pool::{OptimismHead, PendingHead};
use foreseal_primitives::ChainSpec;
use foreseal_state::{BlockHashes, StateError, StateReader};
use imbl::Vector;

use crate::{
    block_at_step::Steps,
    block_counts::BlockCounts,
    executed_block::{ExecutedBlock, Step},
    hash_index::{HashIndex, Position, STEP_WINDOW},
    header_and_state::HeaderAndState,
    read_mode::ReadMode,
    reorged_blocks::ReorgedBlocks,
    sealed::SealedBlocks,
    step_cursor::StepCursor,
};

/// Identifier of a block or step in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockId {
    /// The newest sealed block.
    Latest,
    /// The block being built.
    Pending,
    Safe,
    Finalized,
    /// Genesis.
    Earliest,
    /// A sealed block by number.
    Number(u64),
    /// A sealed block, the block being built, or a step, by hash (EIP-1898).
    Hash {
        hash: B256,
        require_canonical: bool,
    },
    /// A step by position, in a sealed block or in the block being built.
    Step {
        number: u64,
        index: u64,
    },
}

/// Reasons why a [`BlockId`] does not resolve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("block not found")]
    NotFound,
    /// `requireCanonical` was set, and the hash is that of a step that a later step superseded.
    #[error("hash is not currently canonical")]
    NotCanonical,
    /// The stored data cannot be read, or an unwind has replaced it since this view was published.
    #[error(transparent)]
    Read(#[from] StateError),
}

/// Immutable snapshot of the chain at one step, with everything that requests read. A clone of its `Arc` pins
/// it.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) spec: Arc<ChainSpec>,
    pub(crate) sealed: SealedBlocks,
    pub(crate) pending: Arc<ExecutedBlock>,
    pub(crate) pending_index: u64,
    pub(crate) safe: u64,
    pub(crate) finalized: u64,
    pub(crate) lookup: Arc<HashIndex>,
    pub(crate) reorged: ReorgedBlocks,
    pub(crate) mode: ReadMode,
    pub(crate) converted: ConvertedViews,
}

/// The same view in the modes of the other endpoints. Each is converted once: a conversion costs as much as a short
/// read.
#[derive(Debug, Default)]
pub(crate) struct ConvertedViews {
    pub(crate) sealed: OnceLock<Arc<View>>,
    pub(crate) preconfirmed: OnceLock<Arc<View>>,
}

impl Clone for ConvertedViews {
    /// Returns none: the clone of a view is made to be changed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl View {
    /// Returns the rules of the chain.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// Returns the block being built, at its newest step.
    pub fn pending(&self) -> &Arc<ExecutedBlock> {
        &self.pending
    }

    /// Returns the index of the newest step of the block being built.
    pub fn pending_index(&self) -> u64 {
        self.pending_index
    }

    /// Returns the newest sealed block.
    pub fn latest(&self) -> &Arc<ExecutedBlock> {
        self.sealed.latest()
    }

    /// Returns the cursor of the newest step. On a node that does not produce, an idle pending block is not a
    /// step.
    pub fn cursor(&self) -> StepCursor {
        let newest = if self.pending.steps.is_empty() { self.latest() } else { &self.pending };
        Steps::from_block(newest).last()
    }

    /// Returns the metrics of the caches in front of the history; `None` on a chain that is in memory alone.
    pub fn caches(&self) -> Option<[CacheMetrics; 2]> {
        self.sealed.archive().map(|archive| archive.caches().metrics())
    }

    /// Returns the size of the sealed blocks in memory and of the block being built, in bytes.
    pub fn block_bytes(&self) -> usize {
        self.sealed.bytes().saturating_add(self.pending.memory_size)
    }

    /// Returns the size of the blocks that `self` holds in memory and `newer` no longer does, in bytes.
    pub(crate) fn bytes_released_since(&self, newer: &Self) -> u64 {
        newer.sealed.released().saturating_sub(self.sealed.released())
    }

    /// Returns the size of the reorged blocks in memory, in bytes.
    pub fn reorged_bytes(&self) -> usize {
        self.reorged.bytes()
    }

    /// Returns the sealed block with this number.
    pub fn sealed(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        self.sealed.block(number)
    }

    /// Returns the block with this number, sealed or being built.
    pub fn at(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        if number == self.pending.number() { Ok(Some(self.pending.clone())) } else { self.sealed(number) }
    }

    /// Returns the counts of the block that `id` names; `None` if `id` names a step before the last one of its block.
    ///
    /// # Errors
    ///
    /// The same as those of [`Self::resolve`].
    pub fn counts(&self, id: BlockId) -> Result<Option<BlockCounts>, ResolveError> {
        let id = self.meaning(id);
        let number = match (self.number_of(id), id) {
            (Some(number), _) => number,
            (None, BlockId::Latest) => return Ok(Some(BlockCounts::new(self.latest()))),
            (None, BlockId::Pending) => return Ok(Some(BlockCounts::new(self.pending()))),
            (None, BlockId::Hash { hash, .. }) => {
                let number = self.step_position(&hash)?.ok_or(ResolveError::NotFound)?.number;
                return Ok(self.counts_at(number)?.filter(|counts| counts.hash == hash));
            }
            (None, _) => return Ok(None),
        };
        self.sealed.counts(number)?.ok_or(ResolveError::NotFound).map(Some)
    }

    /// Returns the counts of the block with this number, sealed or being built.
    pub fn counts_at(&self, number: u64) -> Result<Option<BlockCounts>, StateError> {
        if number == self.pending().number() {
            return Ok(Some(BlockCounts::new(self.pending())));
        }
        self.sealed.counts(number)
    }

    /// Returns the blocks that were reorged off the chain.
    pub fn reorged_blocks(&self) -> &ReorgedBlocks {
        &self.reorged
    }

    /// Returns the number of logs that block `number` had when its hash was `hash`, at one of its steps or in
    /// its final form. `None` if that hash is not on the chain.
    pub fn logs_at(&self, number: u64, hash: &B256) -> Result<Option<u64>, StateError> {
        let Some(counts) = self.counts_at(number)? else { return Ok(None) };
        if counts.hash == *hash {
            return Ok(Some(counts.logs));
        }
        let Some(block) = self.at(number)? else { return Ok(None) };
        let step = block.steps.iter().find(|step| step.hash == *hash);
        Ok(step.map(|step| block.block.log_count(step.transactions)))
    }

    /// Returns the number of the safe block.
    pub fn safe(&self) -> u64 {
        self.safe
    }

    /// Returns the number of the finalized block.
    pub fn finalized(&self) -> u64 {
        self.finalized
    }

    /// Returns the number of the sealed block that `id` names by number or tag. `None` for the newest block
    /// and for every other form of `id`.
    pub(crate) fn number_of(&self, id: BlockId) -> Option<u64> {
        match id {
            BlockId::Safe => Some(self.safe),
            BlockId::Finalized => Some(self.finalized),
            BlockId::Earliest => Some(0),
            BlockId::Number(number) => Some(number),
            BlockId::Latest | BlockId::Pending | BlockId::Hash { .. } | BlockId::Step { .. } => None,
        }
    }

    /// Returns the block that `id` names. If `id` names a step, the result is the block at that step.
    pub fn resolve(&self, id: BlockId) -> Result<Arc<ExecutedBlock>, ResolveError> {
        let sealed = |number| self.sealed(number)?.ok_or(ResolveError::NotFound);
        match self.meaning(id) {
            BlockId::Latest => Ok(self.latest().clone()),
            BlockId::Pending => Ok(self.pending.clone()),
            BlockId::Safe => sealed(self.safe),
            BlockId::Finalized => sealed(self.finalized),
            BlockId::Earliest => sealed(0),
            BlockId::Number(number) => sealed(number),
            BlockId::Hash { hash, require_canonical } => self.by_hash(&hash, require_canonical),
            BlockId::Step { number, index } => {
                let block = self.at(number)?.ok_or(ResolveError::NotFound)?;
                self.at_step(&block, usize::try_from(index).map_err(|_| ResolveError::NotFound)?)
            }
        }
    }

    /// Returns header and state of the block that `id` names, like [`Self::resolve`]. The body of a stored
    /// block is not loaded.
    pub fn header_and_state(&self, id: BlockId) -> Result<HeaderAndState, ResolveError> {
        let id = self.meaning(id);
        let number = match (self.number_of(id), id) {
            (Some(number), _) => number,
            (None, BlockId::Hash { hash, .. }) => {
                let number = self.step_position(&hash)?.ok_or(ResolveError::NotFound)?.number;
                if self.sealed.hash(number)? != Some(hash) {
                    return self.resolve(id).map(HeaderAndState::from_block);
                }
                number
            }
            (None, _) => return self.resolve(id).map(HeaderAndState::from_block),
        };
        self.sealed.header_and_state(number)?.ok_or(ResolveError::NotFound)
    }

    /// Returns the block of the transaction with this hash (sealed or being built) and the transaction's
    /// index in it.
    pub fn transaction(&self, hash: &B256) -> Result<Option<(Arc<ExecutedBlock>, usize)>, StateError> {
        let Some(position) = self.transaction_position(hash)? else { return Ok(None) };
        let Some(block) = self.at(position.number)? else { return Ok(None) };
        let transaction = block.block.transactions.get(position.index);
        let has_hash = transaction.is_some_and(|transaction| transaction.hash() == *hash);
        Ok(has_hash.then_some((block, position.index)))
    }

    /// Returns the position of the transaction with this hash. It may be ahead of this view.
    pub fn transaction_position(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        let position = self.any_transaction_position(hash)?;
        Ok(position.filter(|position| self.is_visible(*position)))
    }

    /// Returns the position of the transaction with this hash, in every mode.
    pub(crate) fn any_transaction_position(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        match (self.lookup.transaction(hash), self.sealed.archive()) {
            (None, Some(archive)) => archive.transaction(hash),
            (position, _) => Ok(position),
        }
    }

    /// Returns `true` if the block with this number, sealed or being built, is read from memory.
    pub fn is_in_memory(&self, number: u64) -> bool {
        number == self.pending.number() || self.sealed.cached_block(number).is_some()
    }

    /// Returns the steps of a block, in order. Genesis and imported blocks have none.
    pub fn steps(&self, block: &ExecutedBlock) -> Result<Vector<Arc<Step>>, StateError> {
        // Steps of old blocks are dropped from memory, but the history still has them.
        match self.sealed.archive().filter(|_| block.steps.is_empty()) {
            Some(archive) => {
                let stored =
                    archive.block(block.number())?.filter(|stored| stored.block.hash == block.block.hash);
                Ok(stored.map(|stored| stored.steps.clone()).unwrap_or_default())
            }
            None => Ok(block.steps.clone()),
        }
    }

    /// Returns the position of the step or block with this hash. It may be ahead of this view, so the caller
    /// checks it.
    pub(crate) fn step_position(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        // The placeholder of a node that builds no block is in no table.
        if self.pending.block.hash == *hash && !self.hides_steps() {
            let index = usize::try_from(self.pending_index).unwrap_or(usize::MAX);
            return Ok(Some(Position { number: self.pending.number(), index }));
        }
        let position = match (self.lookup.step(hash), self.sealed.archive()) {
            (None, Some(archive)) => archive.step(hash)?,
            (position, _) => position,
        };
        Ok(position.filter(|position| self.is_visible(*position)))
    }

    fn by_hash(&self, hash: &B256, require_canonical: bool) -> Result<Arc<ExecutedBlock>, ResolveError> {
        let position = self.step_position(hash)?.ok_or(ResolveError::NotFound)?;
        let block = self.at(position.number)?.ok_or(ResolveError::NotFound)?;
        if block.block.hash == *hash {
            return Ok(block);
        }
        if self.hides_steps() {
            return Err(ResolveError::NotFound);
        }
        let step = self.step(&block, position.index)?;
        if step.hash != *hash {
            return Err(ResolveError::NotFound);
        }
        if require_canonical {
            return Err(ResolveError::NotCanonical);
        }
        self.at_step(&block, position.index)
    }

    /// Returns a step of a block. Only the newest [`STEP_WINDOW`] blocks have steps that resolve.
    fn step<'b>(&self, block: &'b ExecutedBlock, index: usize) -> Result<&'b Step, ResolveError> {
        let in_window = block.number() + STEP_WINDOW > self.latest().number();
        let step = block.steps.get(index).filter(|_| in_window);
        step.map(AsRef::as_ref).ok_or(ResolveError::NotFound)
    }

    fn at_step(&self, block: &Arc<ExecutedBlock>, index: usize) -> Result<Arc<ExecutedBlock>, ResolveError> {
        let step = self.step(block, index)?;
        let state = match (&step.state, self.sealed.archive()) {
            _ if step.hash == block.block.hash => block.state.clone(),
            (Some(state), _) => state.clone(),
            (None, Some(archive)) => archive.state_at(&self.spec, self, block, (step, index))?,
            (None, None) => return Err(ResolveError::NotFound),
        };
        Ok(Arc::new(block.at_step(step, index, state)))
    }
}

impl BlockHashes for View {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        self.sealed.hash(number)
    }
}

impl PendingHead for View {
    fn state(&self) -> &dyn StateReader {
        &self.pending.state
    }

    fn is_preconfirmed(&self, hash: &B256) -> bool {
        let Some(position) = self.lookup.transaction(hash) else { return false };
        let transaction = || self.pending.block.transactions.get(position.index);
        position.number == self.pending.number()
            && transaction().is_some_and(|transaction| transaction.hash() == *hash)
    }

    fn optimism(&self) -> Option<OptimismHead> {
        let gas_limit = self.pending.block.header.gas_limit;
        self.spec.optimism().map(|rules| OptimismHead { fork: rules.fork(), gas_limit })
    }
}
