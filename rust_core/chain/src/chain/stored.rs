//! A chain whose older blocks are in a store that follows it.

use std::sync::Arc;

use alloy_primitives::U256;
use foreseal_primitives::ChainSpec;
use foreseal_state::State;
use imbl::Vector;

use super::unloading::Unloading;
use super::{Chain, ChainError};
use crate::{
    archive::Archive,
    archive_caches::{ArchiveCaches, CacheSizes},
    executed_block::ExecutedBlock,
    finality::FinalityDepth,
    hash_index::HashIndex,
    history::History,
    reorged_blocks::{ReorgedBlocks, UnreplayedJournal},
    sealed::{BlockWindow, SealedBlocks},
    store_update::{BlockChanges, ChainMeta, StoreUpdate},
};

/// Number of portions of the state.
const PORTIONS: u8 = 16;
/// Number of portions that may be unloaded per block. So eight blocks cover the whole state, and no block
/// pays for much.
const PORTIONS_PER_BLOCK: u8 = 2;

/// Position from which a chain resumes.
#[derive(Clone, Copy, Debug)]
pub struct Resumed {
    /// Number of the newest block in the history.
    pub head: u64,
    /// Total difficulty up to and including it.
    pub total_difficulty: U256,
    pub meta: ChainMeta,
}

impl Chain {
    /// Returns the chain that `history` holds, up to its newest block, with only that block in memory.
    pub fn resumed(
        spec: Arc<ChainSpec>,
        depth: FinalityDepth,
        history: Arc<dyn History>,
        (window, caches): (BlockWindow, ArchiveCaches),
        from: Resumed,
    ) -> Result<Self, ChainError> {
        let archive = Arc::new(Archive::new(history, caches));
        let head = archive.block(from.head)?.ok_or(ChainError::NotOnChain { number: from.head })?;
        Ok(Self {
            sealed: SealedBlocks::resumed(head, archive)?,
            spec,
            total_difficulty: from.total_difficulty,
            window,
            open: None,
            depth,
            finality: from.meta.finality,
            lookup: Arc::new(HashIndex::default()),
            forgotten: from.head,
            clock_offset: from.meta.clock_offset,
            reorged: ReorgedBlocks::default(),
            updates: Vec::new(),
            unloading: Unloading::default(),
        })
    }

    /// Sets `older` as the source of blocks that were reorged before the start. `count` is the number of
    /// reorged blocks that this process has already reported.
    pub fn remember(&mut self, older: UnreplayedJournal, count: u64) {
        self.reorged.set_older(older, count, self.window.reorged_bytes);
    }

    /// Returns the number of blocks ever removed from the chain since the start of the node.
    pub fn reorged_block_count(&self) -> u64 {
        self.reorged.count()
    }

    /// Returns the store updates since the last call, and clears them.
    pub fn drain_store_updates(&mut self) -> Vec<StoreUpdate> {
        std::mem::take(&mut self.updates)
    }

    /// Sets the history from which blocks that are not in memory are read. It must hold the current chain.
    pub fn read_from(&mut self, history: Arc<dyn History>) {
        let caches = self.sealed.archive().map(|archive| archive.caches().renewed());
        let caches = caches.unwrap_or_else(|| ArchiveCaches::new(&CacheSizes::default()));
        self.sealed.set_archive(Arc::new(Archive::new(history, caches)));
    }

    pub(super) fn send(&mut self, block: Arc<ExecutedBlock>, changed: BlockChanges) {
        if self.sealed.archive().is_some() {
            let meta = self.meta();
            self.updates.push(StoreUpdate::Sealed { block, changed, meta });
        }
    }

    pub(super) fn send_unwound(&mut self, to: u64) {
        if self.sealed.archive().is_some() {
            let meta = self.meta();
            self.updates.push(StoreUpdate::Unwound { to, meta });
        }
    }

    fn meta(&self) -> ChainMeta {
        ChainMeta { finality: self.finality, clock_offset: self.clock_offset }
    }

    /// Reads what is not in memory as of the newest block that the history holds, and drops the blocks before it
    /// that are outside the window. Returns the number of the oldest block in memory.
    pub fn read_from_newest_stored(&mut self) -> u64 {
        drop(self.remove_stored());
        let oldest = self.sealed.first();
        self.sealed.read_latest_at(oldest);
        oldest
    }

    /// Unloads some portions of the state that have not changed since the oldest block in memory. Does
    /// nothing unless the history has that block, or once all portions are unloaded.
    pub(super) fn unloaded(&mut self, state: State) -> State {
        let oldest = self.sealed.oldest();
        let history = self.sealed.archive().filter(|archive| archive.confirmed() >= Some(oldest.number()));
        let Some(states) = history.and_then(Archive::states) else { return state };
        let (mut state, mut unloading) = (state, self.unloading);
        if unloading.oldest != oldest.number() {
            unloading = Unloading { oldest: oldest.number(), done: 0, ..unloading };
        }
        for _ in 0..PORTIONS_PER_BLOCK.min(PORTIONS - unloading.done) {
            state = state.evict_unchanged(&oldest.state, &states, oldest.number(), unloading.next);
            unloading.done += 1;
            unloading.next = (unloading.next + 1) % PORTIONS;
        }
        self.unloading = unloading;
        state
    }
}

impl SealedBlocks {
    /// Returns the sealed blocks of `archive`, with only the newest one in memory.
    fn resumed(head: Arc<ExecutedBlock>, archive: Arc<Archive>) -> Result<Self, ChainError> {
        let number = head.number();
        let mut hashes = Vector::new();
        for ancestor in number.saturating_sub(Self::HASHES - 1)..=number {
            let hash = archive.hash(ancestor)?.ok_or(ChainError::NotOnChain { number: ancestor })?;
            hashes.push_back(hash);
        }
        Ok(Self::with_hashes(head, hashes, Some(archive)))
    }
}
