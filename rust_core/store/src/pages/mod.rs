//! Pages of the file, read without LMDB: every one that a snapshot uses is checked, and damage is named instead of followed.
//!
//! LMDB checks a page whenever it gets one (`vendor/lmdb-master-sys`). This module reads them all, those that nobody asks for
//! as well, and goes on behind a damaged one.
//!
//! The layout is that of LMDB's data format 1 on a 64-bit machine, with the checksums of `vendor/lmdb-master-sys`.

mod layout;
mod scrub;
mod walk;

pub(crate) use layout::is_sound_meta;
pub use scrub::{ScrubPosition, Scrubbed};
pub(crate) use walk::{Found, Walk};

use crate::{
    error::{FREE, ROOTS},
    table::Tables,
};

/// A page that is not what was written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The table that the page belongs to.
    pub table: &'static str,
    /// The key at which the branch page above leads to it; empty for a root.
    pub key: Vec<u8>,
    /// Number of the page.
    pub page: u64,
    /// Offset in `data.mdb`.
    pub offset: u64,
}

impl PageFault {
    /// The table with this name, as another process spells it; empty for none.
    pub(crate) fn table_named(name: &str) -> &'static str {
        Tables::NAMES.into_iter().chain([ROOTS, FREE]).find(|table| *table == name).unwrap_or_default()
    }

    /// The fault as an error.
    pub fn error(&self) -> crate::StoreError {
        crate::StoreError::DamagedPage { table: self.table, key: self.key.clone(), page: self.page }
    }
}
