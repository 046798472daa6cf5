//! The chain as its single writer holds it: sealed blocks and the block being built.
//!
//! Replay, import and production all use the methods here, so a record becomes part of the chain on one code
//! path.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{B256, U256};
use foreseal_builder::{BuildError, NextBlockAttributes, ParentBlock, PendingBlock};
use foreseal_evm::BlockError;
use foreseal_primitives::{ChainSpec, Flashblock, Override, StateDiff};
use foreseal_state::{BlockHashes, State, StateError};
use imbl::Vector;

use crate::{
    archive::Archive,
    archive_caches::{ArchiveCaches, CacheSizes},
    executed_block::{ExecutedBlock, Step, Written},
    finality::{Finality, FinalityDepth},
    genesis_block::GenesisBlock,
    hash_index::{HashIndex, STEP_WINDOW},
    history::History,
    memory_size::{block_size, changes_size, contents_size, step_size},
    read_mode::ReadMode,
    reorged_blocks::ReorgedBlocks,
    sealed::{BlockWindow, SealedBlocks},
    store_update::{BlockChanges, StoreUpdate},
    view::{ConvertedViews, View},
};

mod expired;
mod import;
mod stored;
mod unloading;
mod unwind;

pub use expired::ExpiredBlocks;
pub use import::BranchHashes;
pub use stored::Resumed;
use unloading::Unloading;

/// Reasons why a record does not fit the chain.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("block {number} is invalid: {source}")]
    Block { number: u64, source: BlockError },
    #[error("imported bytes are not a block: {0}")]
    NotABlock(alloy_rlp::Error),
    #[error("block {number} cannot be {what}: {why}")]
    OutOfOrder { number: u64, what: &'static str, why: &'static str },
    #[error(transparent)]
    Read(#[from] StateError),
    #[error("block {number} is sealed with hash {recorded}, but its last step has {computed}")]
    SealMismatch { number: u64, recorded: B256, computed: B256 },
    #[error("cannot revert to block {number}: it is not on the chain")]
    NotOnChain { number: u64 },
}

/// A step of the block being built, as the journal stores it.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub step: Arc<Flashblock>,
    /// Override written by a development method, if the step consists of one.
    pub change: Option<Override>,
}

/// The block being built, with its steps.
#[derive(Clone, Debug)]
struct Open {
    block: PendingBlock,
    steps: Vector<Arc<Step>>,
    recorded: Vector<Recorded>,
    written: Vector<Written>,
    /// Size of all of this in memory, in bytes.
    memory_size: usize,
}

impl Open {
    fn executed(&self) -> ExecutedBlock {
        ExecutedBlock {
            block: self.block.block(),
            state: self.block.state().clone(),
            steps: self.steps.clone(),
            written: self.written.clone(),
            memory_size: self.memory_size,
        }
    }

    /// Returns the state changes of the block: one diff for each step, then that of end-of-block processing.
    fn diffs(&self) -> Vec<Arc<StateDiff>> {
        let tail = self.recorded.last().map(|last| last.step.end_of_block_diff.clone());
        self.recorded.iter().map(|one| one.step.diff.clone()).chain(tail).collect()
    }
}

/// Sealed blocks, and the block being built if there is one.
#[derive(Clone, Debug)]
pub struct Chain {
    spec: Arc<ChainSpec>,
    sealed: SealedBlocks,
    /// Sum of the difficulties of the sealed blocks (EIP-3675).
    total_difficulty: U256,
    window: BlockWindow,
    open: Option<Open>,
    depth: FinalityDepth,
    finality: Finality,
    lookup: Arc<HashIndex>,
    /// Number of the first block that may still have its table of steps.
    forgotten: u64,
    /// Milliseconds by which a development chain's clock is ahead of the wall clock.
    clock_offset: i64,
    reorged: ReorgedBlocks,
    /// Changes that the store has yet to follow; always empty without a history.
    updates: Vec<StoreUpdate>,
    unloading: Unloading,
}

impl Chain {
    /// Creates a chain of its genesis block alone, which keeps all blocks in memory. `spec` must have the allocation
    /// of the genesis.
    pub fn new(spec: Arc<ChainSpec>, depth: FinalityDepth) -> Self {
        Self::from_genesis(&GenesisBlock::new(spec), depth)
    }

    /// Same as [`Self::new`], with a genesis block that is computed.
    pub fn from_genesis(genesis: &GenesisBlock, depth: FinalityDepth) -> Self {
        Self::with_archive(genesis, depth, None)
    }

    /// Creates a chain of its genesis block alone. Blocks that `history` has confirmed leave memory once they
    /// are outside `window`.
    pub fn with_history(
        genesis: &GenesisBlock,
        depth: FinalityDepth,
        history: Arc<dyn History>,
        window: BlockWindow,
        caches: &CacheSizes,
    ) -> Self {
        let archive = Arc::new(Archive::new(history, ArchiveCaches::new(caches)));
        Self { window, ..Self::with_archive(genesis, depth, Some(archive)) }
    }

    fn with_archive(genesis: &GenesisBlock, depth: FinalityDepth, archive: Option<Arc<Archive>>) -> Self {
        let GenesisBlock { spec, block, diff } = genesis.clone();
        let lookup = Arc::new(HashIndex::default());
        lookup.add_step(block.block.hash, 0, 0);
        let mut chain = Self {
            sealed: SealedBlocks::new(block.clone(), archive),
            spec,
            total_difficulty: block.block.header.difficulty,
            window: BlockWindow::default(),
            open: None,
            depth,
            finality: Finality::default(),
            lookup,
            forgotten: 0,
            clock_offset: 0,
            reorged: ReorgedBlocks::default(),
            updates: Vec::new(),
            unloading: Unloading::default(),
        };
        chain.send(block, BlockChanges { before: State::default(), diffs: vec![diff] });
        chain
    }

    /// Returns the rules of the chain.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// Returns the newest sealed block.
    pub fn latest(&self) -> &Arc<ExecutedBlock> {
        self.sealed.latest()
    }

    /// Returns the block being built, if there is one.
    pub fn open_block(&self) -> Option<&PendingBlock> {
        self.open.as_ref().map(|open| &open.block)
    }

    /// Returns the hashes of the sealed blocks.
    pub fn hashes(&self) -> &impl BlockHashes {
        &self.sealed
    }

    fn parent(&self) -> ParentBlock<'_> {
        let latest = self.latest();
        ParentBlock { header: &latest.block.header, hash: latest.block.hash, state: &latest.state }
    }

    /// Returns `true` if the next block is a proof-of-stake block. It is if the newest block is one, or if
    /// the chain has reached the terminal total difficulty (EIP-3675).
    pub fn merged(&self) -> bool {
        let enough = self.spec.config().terminal_total_difficulty;
        self.latest().block.header.difficulty.is_zero()
            || enough.is_some_and(|enough| self.total_difficulty >= enough)
    }

    /// Computes the next block and its step 0 without changing the chain. The caller records them first and
    /// then calls [`Self::start_block`].
    pub fn prepare_open(
        &self,
        opening: &NextBlockAttributes,
    ) -> Result<(PendingBlock, Flashblock), BuildError> {
        if opening.merged && !self.merged() {
            return Err(BuildError::NotProofOfStake { number: self.latest().number() + 1 });
        }
        PendingBlock::open(&self.spec, self.parent(), opening, &self.sealed)
    }

    /// Returns the chain with its open block sealed; opens none.
    pub fn with_open_block_sealed(&self) -> Result<Self, ChainError> {
        let mut next = self.clone();
        let Some(open) = next.open.take() else {
            return Err(out_of_order(self.latest().number() + 1, "sealed", "no block is being built"));
        };
        next.push_sealed(open.executed(), open.diffs());
        Ok(next)
    }

    /// Makes `block` the block being built, at its step 0.
    pub fn start_block(&mut self, block: PendingBlock, step: Arc<Flashblock>) {
        let (steps, recorded, written) = (Vector::new(), Vector::new(), Vector::new());
        let memory_size = block_size(&block.block());
        self.open = Some(Open { block, steps, recorded, written, memory_size });
        self.record_step(0, Recorded { step, change: None });
    }

    /// Removes what left the windows from the chain, and returns the blocks that only the history holds now. Call it
    /// only after the newest opening is durable: until then, readers hold views whose windows end one block earlier.
    pub fn remove_expired(&mut self) -> ExpiredBlocks {
        while self.forgotten.saturating_add(STEP_WINDOW) <= self.latest().number() {
            self.forget_steps(self.forgotten);
            self.forgotten += 1;
        }
        self.remove_stored()
    }

    /// Removes the blocks outside the window that the history holds.
    fn remove_stored(&mut self) -> ExpiredBlocks {
        let blocks = std::iter::from_fn(|| self.sealed.pop(self.window)).collect();
        ExpiredBlocks::new(blocks, self.lookup.clone())
    }

    /// Advances the block being built by one step. `block` is the block after that step.
    pub fn push_step(&mut self, block: PendingBlock, recorded: Recorded) {
        let open = self.open.as_mut().expect("a step follows an open block");
        let known = open.block.block().transactions.len();
        open.block = block;
        self.record_step(known, recorded);
    }

    /// Adds the newest step and its transactions, from index `known` on, to the hash tables.
    fn record_step(&mut self, known: usize, recorded: Recorded) {
        let open = self.open.as_mut().expect("called with an open block");
        let block = open.block.block();
        let (number, index) = (block.header.number, open.steps.len());
        for (position, transaction) in block.transactions.iter().enumerate().skip(known) {
            self.lookup.add_transaction(transaction.hash(), number, position);
        }
        // A step can have the hash of an earlier one when a development method reverts an earlier override.
        if self.lookup.step(&block.hash).is_none_or(|known| known.number != number) {
            self.lookup.add_step(block.hash, number, index);
        }
        if index > 0 && recorded.step.transactions.is_empty() {
            let diff = recorded.step.diff.clone();
            open.written.push_back(Written { step: index, transactions: known, diff });
        }
        let changed = changes_size(&recorded.step.diff) + changes_size(&recorded.step.end_of_block_diff);
        open.memory_size += step_size() + contents_size(&block, known) + changed;
        let (time, signature) = (recorded.step.time, recorded.step.signature);
        open.recorded.push_back(recorded);
        open.steps.push_back(Arc::new(Step {
            header: block.header,
            hash: block.hash,
            transactions: block.transactions.len(),
            time,
            signature,
            transactions_length: block.transactions_length,
            state: Some(open.block.state().clone()),
        }));
    }

    /// Returns the steps of the block being built.
    pub fn open_steps(&self) -> Vector<Recorded> {
        self.open.as_ref().map(|open| open.recorded.clone()).unwrap_or_default()
    }

    /// Checks a recorded opening, which must follow the newest sealed block. Its step 0 comes next.
    pub fn replay_open(&mut self, header: &Header) -> Result<(), ChainError> {
        let refused = |why| Err(out_of_order(header.number, "opened", why));
        let latest = self.latest();
        if self.open.is_some() {
            return refused("another one is being built");
        }
        if header.number != latest.number() + 1 || header.parent_hash != latest.block.hash {
            return refused("it does not follow the newest sealed block");
        }
        Ok(())
    }

    /// Applies a recorded step; step 0 opens the block. `change` is the override if the step consists of one.
    pub fn replay_step(
        &mut self,
        step: &Arc<Flashblock>,
        change: Option<&Override>,
    ) -> Result<(), ChainError> {
        let written = step.transactions.is_empty() && step.index > 0;
        if written != change.is_some() {
            return Err(out_of_order(step.number, "stepped", "only an override has no transactions"));
        }
        if let Some(open) = &self.open {
            let block = open.block.apply(step)?;
            self.push_step(block, Recorded { step: step.clone(), change: change.cloned() });
        } else {
            let block = PendingBlock::resume(&self.spec, self.parent(), step)?;
            self.start_block(block, step.clone());
        }
        Ok(())
    }

    /// Seals the block being built, which must have the recorded hash.
    pub fn replay_seal(&mut self, number: u64, hash: B256) -> Result<(), ChainError> {
        let next = self.with_open_block_sealed()?;
        let computed = next.latest().block.hash;
        if next.latest().number() != number || computed != hash {
            return Err(ChainError::SealMismatch { number, recorded: hash, computed });
        }
        *self = next;
        Ok(())
    }

    /// Returns the numbers of the safe and the finalized block.
    pub fn finality(&self) -> Finality {
        self.finality
    }

    /// Sets the safe and the finalized block. The caller validates them.
    pub fn set_finality(&mut self, finality: Finality) {
        self.finality = finality;
    }

    /// Returns the milliseconds by which the chain's clock is ahead of the wall clock.
    pub fn clock_offset(&self) -> i64 {
        self.clock_offset
    }

    pub fn set_clock_offset(&mut self, offset: i64) {
        self.clock_offset = offset;
    }

    /// Returns the number of the sealed block with this hash.
    pub fn sealed_number(&self, hash: &B256) -> Result<Option<u64>, StateError> {
        let position = match (self.lookup.step(hash), self.sealed.archive()) {
            (None, Some(archive)) => archive.step(hash)?,
            (position, _) => position,
        };
        let Some(number) = position.map(|position| position.number) else { return Ok(None) };
        Ok((self.sealed.hash(number)? == Some(*hash)).then_some(number))
    }

    /// Returns the sealed block with this number.
    pub fn block(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        self.sealed.block(number)
    }

    /// Makes a block the newest sealed one. `diffs` are its state changes, in order.
    fn push_sealed(&mut self, mut executed: ExecutedBlock, diffs: Vec<Arc<StateDiff>>) {
        let before = self.latest().state.clone();
        executed.state = self.unloaded(executed.state);
        self.total_difficulty = self.total_difficulty.saturating_add(executed.block.header.difficulty);
        self.finality.follow(executed.number(), self.depth);
        let block = Arc::new(executed);
        self.sealed.push(block.clone());
        self.send(block, BlockChanges { before, diffs });
    }

    /// Drops the step table of a block that left the window; the block itself stays.
    fn forget_steps(&mut self, number: u64) {
        let Some(block) = self.sealed.forget_steps(number) else { return };
        for step in block.steps.iter().filter(|step| step.hash != block.block.hash) {
            self.lookup.remove_step(&step.hash);
        }
    }

    /// Returns the view for readers; `None` if no block is being built.
    pub fn view(&self) -> Option<View> {
        let open = self.open.as_ref()?;
        Some(self.view_with(open.executed(), open.block.index()))
    }

    /// Returns the view for readers of a node that does not produce. Its pending block is the open block that
    /// the journal left, or else an empty block on top of the newest sealed one.
    pub fn idle_view(&self, opening: &NextBlockAttributes) -> Result<View, BuildError> {
        if let Some(view) = self.view() {
            return Ok(view);
        }
        let (block, _) = self.prepare_open(opening)?;
        let (block, state) = (block.block(), block.state().clone());
        let (steps, written, memory_size) = (Vector::new(), Vector::new(), block_size(&block));
        Ok(self.view_with(ExecutedBlock { block, state, steps, written, memory_size }, 0))
    }

    fn view_with(&self, pending: ExecutedBlock, pending_index: u64) -> View {
        View {
            spec: self.spec.clone(),
            sealed: self.sealed.clone(),
            pending: Arc::new(pending),
            pending_index,
            safe: self.finality.safe,
            finalized: self.finality.finalized,
            lookup: self.lookup.clone(),
            reorged: self.reorged.clone(),
            mode: ReadMode::Standard,
            converted: ConvertedViews::default(),
        }
    }
}

fn out_of_order(number: u64, what: &'static str, why: &'static str) -> ChainError {
    ChainError::OutOfOrder { number, what, why }
}
