//! Pages of the file, read without LMDB. Every page that a read transaction uses is
//! checked, and damage is reported, not followed.
//!
//! LMDB checks each page that it reads (`lmdb/`). This module reads all pages, also those that are never requested,
//! and continues after a damaged one.
//!
//! The layout is that of LMDB's data format 1 on a 64-bit machine, with
//! the checksums of `lmdb/`.

mod layout;
mod scrub;
mod walk;

pub(crate) use layout::is_sound_meta;
pub use scrub::{ScrubPosition, Scrubbed};
pub(crate) use walk::{PageItem, PageWalker};

use crate::{
    error::{FREE, ROOTS},
    table::Tables,
};

/// A page whose content is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The table that the page belongs to.
    pub table: &'static str,
    /// Key at which its parent branch page references it; empty for a root.
    pub key: Vec<u8>,
    /// Number of the page.
    pub page: u64,
    /// Offset in `data.mdb`.
    pub offset: u64,
}

impl PageFault {
    /// Returns the table name equal to `name`, which another process sent; empty if there is none.
    pub(crate) fn table_named(name: &str) -> &'static str {
        Tables::NAMES.into_iter().chain([ROOTS, FREE]).find(|table| *table == name).unwrap_or_default()
    }

    /// Returns the fault as an error.
    pub fn error(&self) -> crate::error::StoreError {
        crate::error::StoreError::DamagedPage { table: self.table, key: self.key.clone(), page: self.page }
    }
}
