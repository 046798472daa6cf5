//! Entries that are collected for one table and written in key order.

use heed::RwTxn;

use crate::{error::StoreError, table::Table};

/// Entries of one table. Sorted writes visit each page of the table once.
#[derive(Default)]
pub(crate) struct WriteBatch {
    bytes: Vec<u8>,
    entries: Vec<BatchEntry>,
}

/// Position of an entry in [`WriteBatch::bytes`]: its key, then its value.
#[derive(Clone, Copy)]
struct BatchEntry {
    start: usize,
    value: usize,
    end: usize,
}

impl WriteBatch {
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.entries.push(BatchEntry { start, value: start + key.len(), end: self.bytes.len() });
    }

    /// Returns the entries by key; entries with the same key stay in insertion order.
    pub fn sorted(&mut self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let bytes = &self.bytes;
        self.entries.sort_by(|a, b| bytes[a.start..a.value].cmp(&bytes[b.start..b.value]));
        self.entries.iter().map(|put| (&bytes[put.start..put.value], &bytes[put.value..put.end]))
    }

    /// Writes all entries.
    pub fn write(mut self, txn: &mut RwTxn<'_>, table: &Table) -> Result<(), StoreError> {
        self.sorted().try_for_each(|(key, value)| table.put(txn, key, value))
    }
}
