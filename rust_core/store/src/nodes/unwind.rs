//! Unwinding the nodes of a block in the window.

use heed::RwTxn;

use super::node_key::{self, Kind};
use crate::{chunks, error::StoreError, read_transaction::ReadTransaction, table::Tables};

/// Removes the versions that a block wrote. Later blocks are already removed;
/// the versions that it replaced still exist.
pub(crate) fn unwind_block(txn: &mut RwTxn<'_>, tables: &Tables, number: u64) -> Result<(), StoreError> {
    let keys = ReadTransaction::new(txn, tables).node_keys(number)?;
    for kind in Kind::ALL {
        for changed in keys.changed(kind) {
            kind.table(tables).delete(txn, &node_key::key(&changed.location, number))?;
        }
    }
    chunks::remove(txn, &tables.node_changes, number)
}
