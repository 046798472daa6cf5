//! Rebuilding a damaged store from its sound pages.
//!
//! The free pages and four tables are derived from the other tables. If only they are damaged, all other
//! entries are copied into a new store, and these tables are rebuilt from the blocks.

use std::{ops::ControlFlow, path::Path};

use crate::{
    block::write::Indexes,
    error::{FREE, StoreError},
    meta,
    pages::{PageFault, PageItem, PageWalker},
    read_transaction::ReadTransaction,
    store::Store,
    table::{Table, Tables},
};

/// Limits of one transaction, in bytes and in blocks.
const BATCH_SIZE: usize = 16 << 20;
const BATCH_BLOCKS: u64 = 256;

/// Tables that are derived from the others.
const DERIVED: [&str; 4] = ["log_index", "block_hashes", "transaction_hashes", "step_hashes"];

/// The damaged pages of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamageSurvey {
    pub faults: Vec<PageFault>,
}

impl DamageSurvey {
    /// Returns `true` if all damage is in data that is derived from the rest.
    pub fn is_derived(&self) -> bool {
        self.faults.iter().all(|fault| self.follows(fault.table))
    }

    /// Returns `true` if a table is derived from the others.
    pub fn follows(&self, table: &str) -> bool {
        table == FREE || DERIVED.contains(&table)
    }
}

/// Progress of rewriting a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewriteStatus {
    /// Number of entries copied, or of blocks indexed.
    pub done: u64,
    pub of: u64,
}

impl Store {
    /// Reads every page and returns the damaged ones.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if its roots are damaged.
    pub fn survey(&self) -> Result<DamageSurvey, StoreError> {
        let walk = PageWalker::begin(self.env())?;
        let mut survey = DamageSurvey::default();
        for tree in walk.trees()? {
            let _ = walk.tree(tree, &[], &mut |item| {
                if let PageItem::Fault(fault) = item {
                    survey.faults.push(fault);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(survey)
    }

    /// Rewrites the store into the new folder `target`. All damage must be in derived data
    /// ([`DamageSurvey::is_derived`]). `report` may interrupt it.
    ///
    /// # Errors
    /// Returns [`StoreError::DamagedPage`] for other damage, and [`StoreError::Interrupted`].
    pub fn rewrite(
        &self,
        target: &Path,
        report: &mut dyn FnMut(RewriteStatus) -> ControlFlow<()>,
    ) -> Result<Self, StoreError> {
        let options = crate::options::StoreOptions { read_only: false, ..*self.options() };
        let made = Self::open(target, options)?;
        self.copy_tables(&made, report)?;
        let Some(head) = made.progress()?.head else { return Ok(made) };
        let mut next = 0;
        while next <= head.number {
            let end = (next + BATCH_BLOCKS).min(head.number + 1);
            made.commit(|txn, progress| {
                let mut indexes = Indexes::default();
                for number in next..end {
                    indexes.add_stored(&ReadTransaction::new(txn, made.tables()), progress, number)?;
                }
                indexes.write(txn, made.tables())
            })?;
            next = end;
            if report(RewriteStatus { done: next, of: head.number + 1 }).is_break() {
                return Err(StoreError::Interrupted);
            }
        }
        Ok(made)
    }

    /// Copies the tables that are not derived from others.
    fn copy_tables(
        &self,
        made: &Self,
        report: &mut dyn FnMut(RewriteStatus) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        // The number of entries of a table whose root is damaged is unknown.
        let entries = |table: Table| self.read(|read_txn, _| Ok(table.stat(read_txn.txn)?.entries as u64));
        let of = self.tables().all().into_iter().filter_map(|table| entries(table).ok()).sum();
        let (walk, mut done) = (PageWalker::begin(self.env())?, 0);
        for tree in walk.trees()? {
            let table = made.tables().all().into_iter().find(|table| table.name == tree.table);
            let Some(table) = table.filter(|table| !DERIVED.contains(&table.name)) else { continue };
            let (mut batch, mut failed) = (Batch::new(made, table), None);
            let _ = walk.tree(tree, &[], &mut |item| {
                let added = match item {
                    PageItem::Entry { key, value } => batch.add(key, value),
                    PageItem::Fault(fault) => Err(fault.error()),
                    PageItem::Page { .. } => Ok(()),
                };
                match added {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
            done += batch.finish()?;
            if report(RewriteStatus { done, of }).is_break() {
                return Err(StoreError::Interrupted);
            }
        }
        Ok(())
    }
}

/// Entries that are buffered for a table.
struct Batch<'s> {
    store: &'s Store,
    table: Table,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
    written: u64,
}

impl<'s> Batch<'s> {
    fn new(store: &'s Store, table: Table) -> Self {
        Self { store, table, entries: Vec::new(), bytes: 0, written: 0 }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.bytes += key.len() + value.len();
        self.entries.push((key.to_vec(), value.to_vec()));
        if self.bytes >= BATCH_SIZE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let entries = std::mem::take(&mut self.entries);
        (self.written, self.bytes) = (self.written + entries.len() as u64, 0);
        let (table, meta) = (self.table, self.table.name == Tables::META);
        self.store.commit(|txn, progress| {
            for (key, value) in &entries {
                if meta { table.put(txn, key, value)? } else { table.append(txn, key, value)? }
            }
            // The copied progress replaces that of the new store.
            *progress = meta::read(&self.store.tables().meta, txn)?;
            Ok::<(), StoreError>(())
        })
    }

    fn finish(mut self) -> Result<u64, StoreError> {
        self.write()?;
        Ok(self.written)
    }
}
