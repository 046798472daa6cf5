//! Deletion of versions that no proof needs any more.

use heed::RwTxn;

use super::{
    changes::{ChangedNode, NodeKeyChange},
    node_key::{self, Kind},
};
use crate::{
    chunks,
    error::StoreError,
    meta::Progress,
    read_transaction::ReadTransaction,
    table::{Table, Tables},
};

/// Deletes the versions of a location that no block from `oldest` on uses, if
/// there are more than `tolerated` of them.
pub(super) fn prune(
    txn: &mut RwTxn<'_>,
    table: &Table,
    location: &[u8],
    oldest: u64,
    tolerated: usize,
) -> Result<(), StoreError> {
    if oldest == 0 {
        return Ok(());
    }
    let mut dead: Vec<Vec<u8>> = Vec::new();
    let versions = table.range(txn, &node_key::key(location, oldest), &node_key::end(location))?;
    for (age, version) in versions.enumerate() {
        let (key, value) = version?;
        // Block `oldest` uses the first version. It stays if it has a node; an absent node needs no version.
        if age > 0 || value.is_empty() {
            dead.push(key.to_vec());
        }
    }
    if dead.len() > tolerated {
        dead.iter().try_for_each(|key| table.delete(txn, key).map(|_| ()))?;
    }
    Ok(())
}

/// Moves the start of the window to `oldest`: deletes versions that blocks up to
/// it replaced or removed, and their lists.
pub(crate) fn prune_proof_window(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    progress: &mut Progress,
    oldest: u64,
) -> Result<(), StoreError> {
    for number in progress.proofs_from + 1..=oldest {
        let keys = ReadTransaction::new(txn, tables).node_keys(number)?;
        for kind in Kind::ALL {
            let table = kind.table(tables);
            for ChangedNode { location, change } in keys.changed(kind) {
                match change {
                    NodeKeyChange::Stored => prune(txn, table, location, oldest, 1)?,
                    NodeKeyChange::Removed => prune(txn, table, location, oldest, 0)?,
                    NodeKeyChange::Cleared => clear(txn, table, location, number)?,
                }
            }
        }
        chunks::remove(txn, &tables.node_changes, number)?;
    }
    progress.proofs_from = oldest;
    Ok(())
}

/// Deletes the versions up to `number` of a location and of all locations below it.
fn clear(txn: &mut RwTxn<'_>, table: &Table, location: &[u8], number: u64) -> Result<(), StoreError> {
    let mut dead: Vec<Vec<u8>> = Vec::new();
    for version in table.prefix(txn, location)? {
        let (key, _) = version?;
        if node_key::split(table, key)?.1 <= number {
            dead.push(key.to_vec());
        }
    }
    dead.iter().try_for_each(|key| table.delete(txn, key).map(|_| ()))
}
