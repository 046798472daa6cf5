//! The sealed blocks, as the chain and its views hold them.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_state::{BlockHashes, StateError};
use imbl::Vector;

use crate::{
    archive::Archive, block_counts::BlockCounts, executed_block::ExecutedBlock,
    header_and_state::HeaderAndState, history::History,
};

/// Window of sealed blocks that stay in memory although the history holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWindow {
    pub blocks: usize,
    /// Maximum number of transactions in these blocks together; the window shrinks to meet it.
    pub transactions: usize,
    /// Maximum size of these blocks together in memory, in bytes; the window shrinks to meet it.
    pub bytes: usize,
    /// Maximum size of reorged blocks in memory, in bytes.
    pub reorged_bytes: usize,
}

impl Default for BlockWindow {
    fn default() -> Self {
        Self { blocks: 32, transactions: 10_000, bytes: 80 << 20, reorged_bytes: 32 << 20 }
    }
}

/// The newest blocks in memory, without a gap, and the history for older ones. Clones share structure.
#[derive(Clone, Debug)]
pub(crate) struct SealedBlocks {
    /// Blocks by number; the latest is last.
    recent: Vector<Arc<ExecutedBlock>>,
    /// Number of transactions in the recent blocks.
    transactions: usize,
    /// Size of the recent blocks, in bytes.
    bytes: usize,
    /// Total size of the blocks that ever left memory, in bytes.
    released: u64,
    /// Hashes of the newest blocks, the latest last.
    hashes: Vector<B256>,
    archive: Option<Arc<Archive>>,
}

impl SealedBlocks {
    /// Number of block hashes held in memory: those that `BLOCKHASH` can read.
    pub const HASHES: u64 = 256;

    /// Creates a chain of `block` alone. Without an archive, every later block stays in memory.
    pub fn new(block: Arc<ExecutedBlock>, archive: Option<Arc<Archive>>) -> Self {
        let hashes = Vector::unit(block.block.hash);
        Self::with_hashes(block, hashes, archive)
    }

    /// Creates a chain like [`Self::new`], with the hashes of the newest blocks; that of `block` is last.
    pub fn with_hashes(
        block: Arc<ExecutedBlock>,
        hashes: Vector<B256>,
        archive: Option<Arc<Archive>>,
    ) -> Self {
        let (transactions, bytes) = (block.block.transactions.len(), block.memory_size);
        Self { recent: Vector::unit(block), transactions, bytes, released: 0, hashes, archive }
    }

    /// Replaces the history from which older blocks are read.
    pub fn set_archive(&mut self, archive: Arc<Archive>) {
        self.archive = Some(archive);
    }

    pub fn latest(&self) -> &Arc<ExecutedBlock> {
        self.recent.last().expect("the latest block is always in memory")
    }

    pub fn archive(&self) -> Option<&Archive> {
        self.archive.as_deref()
    }

    pub fn push(&mut self, block: Arc<ExecutedBlock>) {
        self.transactions += block.block.transactions.len();
        self.bytes += block.memory_size;
        self.hashes.push_back(block.block.hash);
        if self.hashes.len() as u64 > Self::HASHES {
            self.hashes.pop_front();
        }
        self.recent.push_back(block);
    }

    /// Removes the oldest block from memory if the history holds it and it is outside the window. The newest
    /// block that the history holds stays, because states are read at the oldest block in memory and the
    /// history must hold that block.
    pub fn pop(&mut self, window: BlockWindow) -> Option<Arc<ExecutedBlock>> {
        let confirmed = self.archive()?.confirmed()?;
        let within = self.recent.len() <= window.blocks
            && self.transactions <= window.transactions
            && self.bytes <= window.bytes;
        if within || self.recent.len() == 1 || self.first() >= confirmed {
            return None;
        }
        let block = self.recent.pop_front()?;
        self.count_released(&block);
        Some(block)
    }

    fn count_released(&mut self, block: &ExecutedBlock) {
        self.transactions -= block.block.transactions.len();
        self.bytes -= block.memory_size;
        self.released = self.released.saturating_add(block.memory_size as u64);
    }

    /// Returns the size of the recent blocks, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the total size of the blocks that ever left memory, in bytes. An older copy holds what has left since.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Returns the oldest block in memory.
    pub fn oldest(&self) -> &Arc<ExecutedBlock> {
        self.recent.front().expect("the latest block is always in memory")
    }

    /// Reads what is not in memory of the latest state as of block `at`, which is in memory.
    pub fn read_latest_at(&mut self, at: u64) {
        if let Some(mut latest) = self.recent.pop_back() {
            let block = Arc::make_mut(&mut latest);
            block.state = block.state.read_at(at);
            self.recent.push_back(latest);
        }
    }

    /// Returns the number of the oldest block in memory.
    pub fn first(&self) -> u64 {
        self.oldest().number()
    }

    fn in_memory(&self, number: u64) -> Option<&Arc<ExecutedBlock>> {
        self.recent.get(usize::try_from(number.checked_sub(self.first())?).ok()?)
    }

    /// Returns the archive if it may hold the block with this number.
    fn older(&self, number: u64) -> Option<&Archive> {
        (number < self.first()).then_some(self.archive()).flatten()
    }

    pub fn block(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        match self.older(number) {
            Some(archive) => archive.block(number),
            None => Ok(self.in_memory(number).cloned()),
        }
    }

    /// Returns the block if it is in memory or cached; the history is not read.
    pub fn cached_block(&self, number: u64) -> Option<Arc<ExecutedBlock>> {
        match self.older(number) {
            Some(archive) => archive.cached_block(number),
            None => self.in_memory(number).cloned(),
        }
    }

    /// Returns the counts of the block; those of a stored block are read without its body.
    pub fn counts(&self, number: u64) -> Result<Option<BlockCounts>, StateError> {
        match self.older(number) {
            Some(archive) => archive.counts(number),
            None => Ok(self.in_memory(number).map(|block| BlockCounts::new(block))),
        }
    }

    /// Returns the history if the block is neither in memory nor cached.
    pub fn history_of(&self, number: u64) -> Option<&Arc<dyn History>> {
        let archive = self.older(number).filter(|archive| archive.cached_block(number).is_none())?;
        Some(archive.history())
    }

    /// Returns the block with its table of steps. Only the table is read from the history if memory has dropped it: the
    /// logs of a block may be many.
    pub fn with_steps(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        if let Some(archive) = self.older(number) {
            return archive.block(number);
        }
        let Some(block) = self.in_memory(number) else { return Ok(None) };
        let forgotten = block.steps.is_empty();
        let archive = self.archive().filter(|archive| forgotten && archive.confirmed() >= Some(number));
        match archive.map(|archive| archive.history().steps(number)).transpose()?.flatten() {
            Some(steps) if !steps.is_empty() => {
                Ok(Some(Arc::new(ExecutedBlock { steps, ..(**block).clone() })))
            }
            _ => Ok(Some(block.clone())),
        }
    }

    pub fn header_and_state(&self, number: u64) -> Result<Option<HeaderAndState>, StateError> {
        match self.older(number) {
            Some(archive) => archive.header_and_state(number),
            None => Ok(self.in_memory(number).cloned().map(HeaderAndState::from_block)),
        }
    }

    pub fn hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        let place = self.latest().number().checked_sub(number).and_then(|back| usize::try_from(back).ok());
        let place = place.and_then(|back| self.hashes.len().checked_sub(back + 1));
        if let Some(hash) = place.and_then(|place| self.hashes.get(place)) {
            return Ok(Some(*hash));
        }
        match self.older(number) {
            Some(archive) => archive.hash(number),
            None => Ok(self.in_memory(number).map(|block| block.block.hash)),
        }
    }

    /// Makes block `number` the latest. Returns the blocks after it with their steps, oldest first; `None` if
    /// no such block exists.
    pub fn truncate(&mut self, number: u64) -> Result<Option<Vec<Arc<ExecutedBlock>>>, StateError> {
        let Some(head) = self.block(number)? else { return Ok(None) };
        let mut removed = Vec::new();
        for after in number + 1..=self.latest().number() {
            removed.extend(self.with_steps(after)?);
        }
        while self.latest().number() > number {
            self.hashes.pop_back();
            let Some(last) = self.recent.pop_back() else { break };
            self.count_released(&last);
            if self.recent.is_empty() {
                self.hashes = Vector::new();
                self.push(head.clone());
            }
        }
        Ok(Some(removed))
    }

    /// Drops the table of steps of a block in memory. Returns the block with its steps.
    pub fn forget_steps(&mut self, number: u64) -> Option<Arc<ExecutedBlock>> {
        let at = usize::try_from(number.checked_sub(self.first())?).ok()?;
        let place = self.recent.get_mut(at)?;
        let before = place.clone();
        Arc::make_mut(place).steps = Vector::new();
        Some(before)
    }
}

impl BlockHashes for SealedBlocks {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        self.hash(number)
    }
}
