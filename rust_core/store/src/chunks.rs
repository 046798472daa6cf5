//! Long values, split into pieces.
//!
//! A value that does not fit into a page gets contiguous pages of its own. In a large file, the search for
//! that many free ones is slow. Two pieces fill one page.

use heed::RwTxn;

use crate::{error::StoreError, key, read_transaction::ReadTransaction, table::Table};

/// Size of a piece in bytes: two of them fit exactly into a 4 KiB page, with their keys and LMDB's headers.
const CHUNK_SIZE: usize = 2_018;

/// Appends a value under a block number; an empty value adds nothing.
pub(crate) fn append(
    txn: &mut RwTxn<'_>,
    table: &Table,
    number: u64,
    value: &[u8],
) -> Result<(), StoreError> {
    let mut chunks = (0..).zip(value.chunks(CHUNK_SIZE));
    chunks.try_for_each(|(index, piece)| table.append(txn, &key::block_item(number, index), piece))
}

/// Removes the value under a block number.
pub(crate) fn remove(txn: &mut RwTxn<'_>, table: &Table, number: u64) -> Result<(), StoreError> {
    table.delete_range(txn, &key::block_item(number, 0), &key::block_item(number.saturating_add(1), 0))
}

impl ReadTransaction<'_> {
    /// Returns the value under a block number; empty if there is none.
    pub fn chunks(&self, table: &Table, number: u64) -> Result<Vec<u8>, StoreError> {
        let mut value = Vec::new();
        for (index, piece) in (0..).zip(table.prefix(self.txn, &key::number(number))?) {
            let (key, piece) = piece?;
            if *key != key::block_item(number, index) {
                return Err(table.damaged(&key::block_item(number, index), "it is missing"));
            }
            value.extend_from_slice(piece);
        }
        Ok(value)
    }
}
