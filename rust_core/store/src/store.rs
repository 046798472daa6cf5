//! The store: one writer, any number of readers.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
};

use alloy_primitives::Bytes;
use heed::{Env, RoTxn, RwTxn, WithoutTls};
use parking_lot::Mutex;

use crate::{
    Head, Options, Origin, Progress, Reader, SealedBlock, StoreError, Upgrading,
    block::write::{Indexes, append, forget_steps},
    meta,
    nodes::{NodeWrites, leave_window},
    open::{check_place, open},
    snapshot::{Known, Snapshot},
    state::{Recent, StateWrites},
    table::Tables,
};

/// An open store. A clone is a handle of the same.
#[derive(Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    env: Env<WithoutTls>,
    tables: Tables,
    options: Options,
    path: PathBuf,
    recent: Recent,
    /// Of the transaction that was read in last.
    known: Mutex<Option<Known>>,
    /// The first damage that a read, a write or the scrub found.
    damage: OnceLock<StoreError>,
}

impl Store {
    /// Opens the files, which this process does not have open.
    pub(crate) fn open_new(
        path: &Path,
        options: Options,
        report: &mut dyn FnMut(Upgrading) -> ControlFlow<()>,
    ) -> Result<Self, StoreError> {
        let (env, tables) = open(path, &options, report)?;
        let (path, recent) = (path.to_owned(), Recent::default());
        let (known, damage) = (Mutex::default(), OnceLock::new());
        Ok(Self { shared: Arc::new(Shared { env, tables, options, path, recent, known, damage }) })
    }

    pub(crate) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// How far the store has come.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        self.read(|_, progress| Ok(*progress))
    }

    /// How far the store has come, and what the writer left beside it, as of one moment.
    pub fn standing(&self) -> Result<(Progress, Bytes), StoreError> {
        self.read(|snapshot, progress| Ok((*progress, meta::note(&snapshot.tables.meta, snapshot.txn)?)))
    }

    /// The newest block; `None` before genesis is written.
    pub fn head(&self) -> Result<Option<Head>, StoreError> {
        Ok(self.progress()?.head)
    }

    /// What the writer left beside the newest block; empty before the first.
    pub fn note(&self) -> Result<Bytes, StoreError> {
        self.read(|snapshot, _| meta::note(&snapshot.tables.meta, snapshot.txn))
    }

    /// The programs that made it what it is, oldest first.
    pub fn origins(&self) -> Result<Vec<Origin>, StoreError> {
        self.read(|snapshot, _| meta::origins(&snapshot.tables.meta, snapshot.txn))
    }

    /// Reads that fail once blocks are unwound.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Ok(self.reader_of(self.progress()?.generation))
    }

    /// As [`Self::reader`], for a generation seen before.
    pub fn reader_of(&self, generation: u64) -> Reader {
        Reader::new(self.clone(), generation)
    }

    /// Writes blocks behind the newest one. They are on the disk, all of them, when this returns; if it fails, none is.
    pub fn write(&self, blocks: &[SealedBlock]) -> Result<(), StoreError> {
        if blocks.is_empty() {
            return Ok(());
        }
        self.commit(|txn, progress| {
            let tables = self.tables();
            let mut indexes = Indexes::default();
            let (mut state, mut nodes) = (StateWrites::default(), NodeWrites::default());
            for block in blocks {
                block.check(progress, self.options())?;
                append(txn, tables, progress, block, &mut indexes)?;
                let number = block.block.header.number;
                state.add(txn, tables, number, &block.diff)?;
                nodes.add(txn, tables, number, &block.nodes)?;
            }
            indexes.write(txn, tables)?;
            state.write(txn, tables)?;
            if let Some(newest) = blocks.last() {
                meta::write_note(&tables.meta, txn, &newest.note)?;
            }
            let oldest = progress.first_proved(self.options().proof_window);
            nodes.write(txn, tables, oldest)?;
            leave_window(txn, tables, progress, oldest)?;
            forget_steps(txn, tables, progress, self.options().step_window)
        })
    }

    /// The newest block that no unwind since `generation` has taken back; `None` if there was none. What was written up to
    /// that block is the same in every generation since.
    pub fn common_since(&self, generation: u64) -> Result<Option<u64>, StoreError> {
        self.read(|snapshot, _| {
            Ok(meta::unwinds(&snapshot.tables.meta, snapshot.txn)?.common_since(generation))
        })
    }

    /// What the store was opened with.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Frees the places of readers whose process is gone; how many there were. Their pages can be used again.
    pub fn clear_stale_readers(&self) -> Result<usize, StoreError> {
        Ok(self.shared.env.clear_stale_readers()?)
    }

    /// The first damage that was found since the store was opened. It stays: what is built on a damaged store is wrong.
    pub fn damage(&self) -> Option<&StoreError> {
        self.shared.damage.get()
    }

    /// Notes damage, so that nothing is built on it.
    pub(crate) fn note_damage(&self, error: &StoreError) {
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

    pub(crate) fn recent(&self) -> &Recent {
        &self.shared.recent
    }

    /// Does `work` in one read transaction.
    ///
    /// The pages that a transaction sees cannot be used again while it lives. So none leaves this crate, and a work
    /// that may take long is done in several.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Snapshot<'_>, &Progress) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let attempt = || {
            let txn = self.env().read_txn().map_err(|error| self.limits(error.into()))?;
            let tables = self.tables();
            let Known { progress, incarnations, .. } = self.known(&txn)?;
            work(&Snapshot { incarnations, ..Snapshot::new(&txn, tables) }, &progress)
        };
        attempt().inspect_err(|error| self.note_damage(error))
    }

    /// What is known of a transaction: reads of one commit come by the thousand, and each would look it up again.
    fn known(&self, txn: &RoTxn<'_, WithoutTls>) -> Result<Known, StoreError> {
        let id = txn.id();
        let known = (*self.shared.known.lock()).filter(|known| known.id == id);
        if let Some(known) = known {
            return Ok(known);
        }
        let known = Known::read(txn, self.tables())?;
        *self.shared.known.lock() = Some(known);
        Ok(known)
    }

    /// Does `work` in one transaction, which is on the disk when this returns, or not at all.
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
            // What is confirmed may leave the journal.
            check_place(&self.shared.path, self.env())
        };
        if let Some(damage) = self.damage() {
            return Err(damage.clone());
        }
        attempt().map_err(|error| self.limits(error)).inspect_err(|error| self.note_damage(error))
    }

    /// Puts the settings into errors that say a limit is reached.
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
