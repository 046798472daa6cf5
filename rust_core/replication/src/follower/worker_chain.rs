//! A copy of the chain that the journal's appends keep up to date.

use std::{path::PathBuf, sync::Arc};

use alloy_primitives::B256;
use foreseal_journal::{Disk, Identity, JournalReader, RawAppend, Record};
use foreseal_primitives::ChainSpec;
use foreseal_store::{Progress, Store, StoredHead};

use super::chain_copy::{ApplyError, CopyProgress};
use crate::{
    error::ReplicationError,
    wire::{Cursor, Welcome},
};
use foreseal_chain::{
    ArchiveCaches, BlockWindow, Chain, NewestStoredBlock, Resumed, StoreMeta, StoreUpdate, StoredHistory,
    UnreplayedJournal, View, replay, sealed_by,
};

/// Position of the store from which a worker's chain starts.
#[derive(Clone, Debug)]
pub(super) struct StoreCheckpoint {
    progress: Progress,
    /// Newest block of the store.
    head: StoredHead,
    meta: StoreMeta,
}

impl StoreCheckpoint {
    /// Reads the store's current position; `None` while it has no block.
    pub fn read(store: &Store) -> Result<Option<Self>, ReplicationError> {
        let (progress, meta) = store.progress_and_metadata()?;
        let Some(head) = progress.head else { return Ok(None) };
        let meta = StoreMeta::decode(&meta)?;
        Ok(Some(Self { progress, head, meta }))
    }

    /// Returns the cursor for the greeting: the append that contains the store's newest block, and possibly
    /// more.
    pub fn cursor(&self) -> Cursor {
        Cursor::From { sequence: self.progress.journal_sequence }
    }
}

/// Configuration of a chain.
#[derive(Clone)]
pub struct WorkerChainConfig {
    pub spec: Arc<ChainSpec>,
    pub store: Store,
    /// Folder of the journal, in which reorged blocks are found.
    pub journal: PathBuf,
    pub disk: Arc<dyn Disk>,
    pub window: BlockWindow,
    pub caches: Arc<ArchiveCaches>,
}

/// The chain of a follower.
pub(super) struct WorkerChain {
    config: WorkerChainConfig,
    chain: Chain,
    confirmed: Arc<NewestStoredBlock>,
    /// Generation of the store from which the chain's history is read.
    generation: u64,
    /// Newest block of the store; records of the first append up to it are skipped.
    skip_to: Option<(u64, B256)>,
    cursor: Cursor,
    records: u64,
}

impl WorkerChain {
    /// Creates the chain as the store holds it. `reorged` is the number of blocks already removed from the
    /// published chain.
    pub fn begin(
        config: WorkerChainConfig,
        checkpoint: &StoreCheckpoint,
        welcome: &Welcome,
        reorged: u64,
    ) -> Result<Self, ReplicationError> {
        let (Progress { journal_sequence, generation, .. }, head) = (checkpoint.progress, checkpoint.head);
        let confirmed = Arc::new(NewestStoredBlock::default());
        confirmed.set(Some(head.number));
        let history = history(&config.store, generation, &confirmed);
        let record = config.store.reader_of(generation).record(head.number)?;
        let total_difficulty = record.map(|(_, record)| record.total_difficulty).unwrap_or_default();
        let resumed = Resumed { head: head.number, total_difficulty, meta: checkpoint.meta.chain };
        let stored = (config.window, config.caches.renewed());
        let mut chain = Chain::resumed(config.spec.clone(), welcome.depth, history, stored, resumed)?;
        let identity = Identity { chain_id: config.spec.chain_id(), genesis: config.store.options().genesis };
        let journal_reader =
            JournalReader::new(config.journal.clone(), config.disk.clone(), identity, journal_sequence + 1);
        // Includes the whole append that sealed the head, because none of its later records is reorged yet.
        chain.remember(UnreplayedJournal::new(journal_reader, (journal_sequence, usize::MAX)), reorged);
        let first = head.number == 0 && journal_sequence == 0;
        Ok(Self {
            config,
            chain,
            confirmed,
            generation,
            skip_to: (!first).then_some((head.number, head.hash)),
            cursor: checkpoint.cursor(),
            records: 0,
        })
    }

    /// Returns the cursor from which the sequencer must continue.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Returns its progress.
    pub fn progress(&self) -> CopyProgress {
        CopyProgress { next: self.next(), latest: self.chain.latest().number(), records: self.records }
    }

    /// Returns the sequence number of the next append.
    fn next(&self) -> u64 {
        match self.cursor {
            Cursor::From { sequence } => sequence,
            Cursor::After { sequence, .. } => sequence + 1,
        }
    }

    /// Returns the number of blocks ever removed from the chain.
    pub fn reorged_blocks(&self) -> u64 {
        self.chain.reorged_block_count()
    }

    /// Returns the view for readers; `None` while no block is being built.
    pub fn view(&self) -> Option<View> {
        self.chain.view()
    }

    /// Does the same as [`Self::view`], with the block that the sequencer would build next as the pending
    /// block.
    pub fn idle_view(&self, welcome: &Welcome) -> Result<View, foreseal_builder::BuildError> {
        self.chain.idle_view(&welcome.production.idle_opening(&self.chain))
    }

    /// Applies an append with the same functions as a replay.
    pub fn apply(&mut self, append: &RawAppend) -> Result<(), ApplyError> {
        let (sequence, wanted) = (append.sequence, self.next());
        if sequence != wanted {
            return Err(ApplyError::OutOfOrder { found: sequence, wanted });
        }
        // The hash becomes the cursor: a wrong one would look like an append that the journal has lost.
        if !append.is_consistent() {
            return Err(ApplyError::ContentHash { sequence });
        }
        let records = append.decode()?.records;
        for record in records.iter().skip(self.skipped(&records, sequence)?) {
            self.records += 1;
            replay(&mut self.chain, self.records, record)?;
            self.follow();
        }
        self.cursor = Cursor::After { sequence: append.sequence, hash: append.hash };
        drop(self.chain.remove_expired());
        Ok(())
    }

    /// Returns the number of leading records that the store already has.
    fn skipped(&mut self, records: &[Record], sequence: u64) -> Result<usize, ApplyError> {
        let Some((number, hash)) = self.skip_to.take() else { return Ok(0) };
        let sealed = records.iter().rposition(|record| sealed_by(record) == Some((number, hash)));
        sealed.map(|at| at + 1).ok_or(ApplyError::NotThere { number, hash, sequence })
    }

    /// Follows the sequencer's store, in which every unwind of this chain has also been applied.
    fn follow(&mut self) {
        for update in self.chain.drain_store_updates() {
            if let StoreUpdate::Unwound { to, .. } = update {
                self.generation += 1;
                self.confirmed.set(self.confirmed.get().map(|confirmed| confirmed.min(to)));
                self.chain.read_from(history(&self.config.store, self.generation, &self.confirmed));
            }
        }
        // A store of another generation is known only to be ahead.
        if let Ok(progress) = self.config.store.reader_of(self.generation).progress() {
            self.confirmed.set(progress.head.map(|head| head.number));
        }
    }
}

fn history(store: &Store, generation: u64, confirmed: &Arc<NewestStoredBlock>) -> Arc<StoredHistory> {
    Arc::new(StoredHistory::new(store.reader_of(generation), confirmed.clone()))
}
