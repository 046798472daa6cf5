//! Sizes of the store.

use crate::{
    error::StoreError,
    meta::{Progress, StoreOrigin},
    open::page_bytes,
    store::Store,
};

/// Sizes of the store and its tables, and its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub progress: Progress,
    /// Programs that made it, oldest first.
    pub origins: Vec<StoreOrigin>,
    pub tables: Vec<TableStats>,
    /// Bytes of the map in use, including free pages.
    pub map_used: u64,
    /// Maximum number of bytes.
    pub map_size: u64,
    /// Bytes of the file.
    pub file_size: u64,
    /// Number of reader slots that have been in use at the same time, and number of available slots.
    pub readers: (u32, u32),
}

/// Sizes of the whole store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSize {
    /// Bytes of the map in use, including free pages; `limit` is their maximum.
    pub used: u64,
    pub limit: u64,
    /// Number of reader slots that have been in use at the same time, and number of available slots.
    pub readers: (u32, u32),
}

/// Size of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStats {
    pub name: &'static str,
    pub entries: u64,
    /// Pages of the table: branch, leaf and overflow pages.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
    /// Number of pages from the root to an entry.
    pub depth: u32,
}

impl Store {
    /// Returns the size of the store, without reading the map.
    pub fn size(&self) -> StoreSize {
        let info = self.env().info();
        StoreSize {
            used: page_bytes(self.env()),
            limit: info.map_size as u64,
            readers: (info.number_of_readers, info.maximum_number_of_readers),
        }
    }

    /// Returns sizes and progress. Reads one page per table.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let (progress, tables) = self.read(|read_txn, progress| {
            let tables = self.tables().all().map(|table| {
                let stat = table.stat(read_txn.txn)?;
                let pages = (stat.branch_pages + stat.leaf_pages + stat.overflow_pages) as u64;
                Ok(TableStats {
                    name: table.name,
                    entries: stat.entries as u64,
                    pages,
                    bytes: pages * u64::from(stat.page_size),
                    depth: stat.depth,
                })
            });
            Ok((*progress, tables.into_iter().collect::<Result<_, StoreError>>()?))
        })?;
        let info = self.env().info();
        Ok(Stats {
            progress,
            origins: self.origins()?,
            tables,
            map_used: page_bytes(self.env()),
            map_size: info.map_size as u64,
            file_size: self.env().real_disk_size()?,
            readers: (info.number_of_readers, info.maximum_number_of_readers),
        })
    }
}
