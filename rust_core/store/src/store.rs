//! The store: one writer, any number of readers.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
};

use alloy_primitives::Bytes;
use foreseal_cache::CacheMetrics;
use heed::{Env, RoTxn, RwTxn, WithoutTls};
use parking_lot::Mutex;

use crate::{
    block::{
        SealedBlock,
        write::{Indexes, append, prune_steps},
    },
    error::StoreError,
    meta,
    meta::{Progress, StoreOrigin, StoredHead},
    nodes::{NodeWrites, prune_proof_window, replace_versions},
    open::{check_location, open},
    options::StoreOptions,
    read_transaction::{ReadTransaction, TransactionInfo},
    state::{StateCache, StateWrites},
    table::Tables,
};

/// Blocks of a write whose trie nodes are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeVersions {
    EachBlock,
    NewestBlock,
}

/// An open store. Clones are handles to the same store.
#[derive(Clone)]
pub struct Store {
    pub(crate) shared: Arc<StoreInner>,
}

pub(crate) struct StoreInner {
    env: Env<WithoutTls>,
    tables: Tables,
    options: StoreOptions,
    path: PathBuf,
    state_cache: StateCache,
    /// Data of the transaction that was read last.
    progress: Mutex<Option<TransactionInfo>>,
    /// The first damage that a read, a write or the scrub found.
    damage: OnceLock<StoreError>,
}

impl Store {
    /// Opens the files, which this process does not have open.
    pub(crate) fn open_new(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let (env, tables) = open(path, &options)?;
        let (path, state_cache) = (path.to_owned(), StateCache::new(&options.caches));
        let (progress, damage) = (Mutex::default(), OnceLock::new());
        Ok(Self {
            shared: Arc::new(StoreInner { env, tables, options, path, state_cache, progress, damage }),
        })
    }

    pub(crate) fn downgrade(&self) -> Weak<StoreInner> {
        Arc::downgrade(&self.shared)
    }

    /// Returns the progress of the store.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        self.read(|_, progress| Ok(*progress))
    }

    /// Returns the progress of the store and the writer's metadata, as of one moment.
    pub fn progress_and_metadata(&self) -> Result<(Progress, Bytes), StoreError> {
        self.read(|read_txn, progress| {
            Ok((*progress, meta::writer_metadata(&read_txn.tables.meta, read_txn.txn)?))
        })
    }

    /// Returns the newest block; `None` before genesis is written.
    pub fn head(&self) -> Result<Option<StoredHead>, StoreError> {
        Ok(self.progress()?.head)
    }

    /// Returns the metadata that the writer stored with the newest block; empty before the first.
    pub fn writer_metadata(&self) -> Result<Bytes, StoreError> {
        self.read(|read_txn, _| meta::writer_metadata(&read_txn.tables.meta, read_txn.txn))
    }

    /// Returns the programs that made the store, oldest first.
    pub fn origins(&self) -> Result<Vec<StoreOrigin>, StoreError> {
        self.read(|read_txn, _| meta::origins(&read_txn.tables.meta, read_txn.txn))
    }

    /// Writes blocks after the newest one. All are durable when this returns; on an error, none is stored.
    pub fn write(&self, blocks: &[SealedBlock]) -> Result<(), StoreError> {
        self.write_blocks(blocks, NodeVersions::EachBlock)
    }

    /// Writes blocks like [`Self::write`], with the trie nodes of the newest one alone. Its `nodes` are the
    /// differences from the newest stored block; those of the other blocks are ignored. Afterwards, only the newest
    /// block can be proved.
    pub fn write_newest_nodes(&self, blocks: &[SealedBlock]) -> Result<(), StoreError> {
        self.write_blocks(blocks, NodeVersions::NewestBlock)
    }

    fn write_blocks(&self, blocks: &[SealedBlock], versions: NodeVersions) -> Result<(), StoreError> {
        let Some(newest) = blocks.last() else { return Ok(()) };
        self.commit(|txn, progress| {
            let tables = self.tables();
            let mut indexes = Indexes::default();
            let (mut state, mut nodes) = (StateWrites::default(), NodeWrites::default());
            let stored = progress.head;
            for block in blocks {
                block.check(progress, self.options())?;
                append(txn, tables, progress, block, &mut indexes)?;
                let number = block.block.header.number;
                state.add(txn, tables, number, &block.diff)?;
                if versions == NodeVersions::EachBlock {
                    nodes.add(txn, tables, number, &block.nodes)?;
                }
            }
            indexes.write(txn, tables)?;
            state.write(txn, tables)?;
            meta::write_writer_metadata(&tables.meta, txn, &newest.writer_metadata)?;
            match versions {
                NodeVersions::EachBlock => {
                    let oldest = progress.oldest_provable_block_with(self.options().proof_window);
                    nodes.write(txn, tables, oldest)?;
                    prune_proof_window(txn, tables, progress, oldest)?;
                }
                NodeVersions::NewestBlock => {
                    // No version records a removal below a cleared location, only the lists of the stored blocks do.
                    let stored = stored.map_or(0, |head| head.number);
                    prune_proof_window(txn, tables, progress, stored)?;
                    let number = newest.block.header.number;
                    replace_versions(txn, tables, number, &newest.nodes)?;
                    progress.proofs_from = number;
                }
            }
            prune_steps(txn, tables, progress, self.options().step_window)
        })
    }

    /// Returns the newest block that no unwind since `generation` removed; `None` if there was no unwind. All
    /// data up to that block is the same in every generation since.
    pub fn common_block_since(&self, generation: u64) -> Result<Option<u64>, StoreError> {
        self.read(|read_txn, _| {
            Ok(meta::unwinds(&read_txn.tables.meta, read_txn.txn)?.common_block_since(generation))
        })
    }

    /// Returns the options with which the store was opened.
    pub fn options(&self) -> &StoreOptions {
        &self.shared.options
    }

    /// Returns the folder of the store.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Frees the reader slots of ended processes, so that their pages can be
    /// reused. Returns the number of freed slots.
    pub fn clear_stale_readers(&self) -> Result<usize, StoreError> {
        Ok(self.shared.env.clear_stale_readers()?)
    }

    /// Returns the first damage found since the store was opened. It is never
    /// cleared: data built on a damaged store is wrong.
    pub fn damage(&self) -> Option<&StoreError> {
        self.shared.damage.get()
    }

    /// Records damage, so that no further blocks are built on it.
    pub(crate) fn record_damage(&self, error: &StoreError) {
        if error.is_damage() && self.shared.damage.set(error.clone()).is_ok() {
            tracing::error!(%error, "the store is damaged");
        }
    }

    pub(crate) fn env(&self) -> &Env<WithoutTls> {
        &self.shared.env
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.shared.tables
    }

    /// Returns the metrics of the caches of read state.
    pub fn caches(&self) -> [CacheMetrics; 3] {
        self.shared.state_cache.metrics()
    }

    pub(crate) fn state_cache(&self) -> &StateCache {
        &self.shared.state_cache
    }

    /// Runs `work` in one read transaction.
    ///
    /// The pages that a transaction sees cannot be reused while it exists. Therefore no transaction leaves
    /// this crate, and long work is split into several.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&ReadTransaction<'_>, &Progress) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let attempt = || {
            let txn = self.env().read_txn().map_err(|error| self.limits(error.into()))?;
            let tables = self.tables();
            let TransactionInfo { progress, incarnations, .. } = self.transaction_info(&txn)?;
            work(&ReadTransaction { incarnations, ..ReadTransaction::new(&txn, tables) }, &progress)
        };
        attempt().inspect_err(|error| self.record_damage(error))
    }

    /// Returns the cached data of a transaction. Thousands of reads use one
    /// commit, and each would otherwise read it again.
    fn transaction_info(&self, txn: &RoTxn<'_, WithoutTls>) -> Result<TransactionInfo, StoreError> {
        let id = txn.id();
        let known = (*self.shared.progress.lock()).filter(|known| known.id == id);
        if let Some(known) = known {
            return Ok(known);
        }
        let known = TransactionInfo::read(txn, self.tables())?;
        *self.shared.progress.lock() = Some(known);
        Ok(known)
    }

    /// Runs `work` in one transaction, which is durable when this returns, or has no effect.
    pub(crate) fn commit(
        &self,
        work: impl FnOnce(&mut RwTxn<'_>, &mut Progress) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if self.options().read_only {
            return Err(StoreError::ReadOnly);
        }
        let attempt = || {
            let meta = &self.tables().meta;
            let mut txn = self.env().write_txn()?;
            let mut progress = meta::read(meta, &txn)?;
            work(&mut txn, &mut progress)?;
            meta::write(meta, &mut txn, &progress)?;
            txn.commit()?;
            // The journal may drop records after this confirmation, so the file must still be in place.
            check_location(&self.shared.path, self.env())
        };
        if let Some(damage) = self.damage() {
            return Err(damage.clone());
        }
        attempt().map_err(|error| self.limits(error)).inspect_err(|error| self.record_damage(error))
    }

    /// Adds the configured limits to errors about a reached limit.
    fn limits(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::MapFull { .. } => StoreError::MapFull { limit: self.options().map_size },
            StoreError::TooManyReaders { .. } => {
                StoreError::TooManyReaders { limit: self.options().max_readers }
            }
            other => other,
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.shared.path).finish_non_exhaustive()
    }
}
