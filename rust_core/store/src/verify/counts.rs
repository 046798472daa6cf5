//! Check that the store has no entries beyond those of its blocks.

use super::{Verifier, blocks::ChainTotals, fault, readable, report::Fault};
use crate::{error::StoreError, key, meta::Progress, read_transaction::ReadTransaction, table::Table};

impl Verifier<'_> {
    /// Compares the numbers of entries with those that the blocks up to the head account for. If there are
    /// newer blocks, compares nothing, moves the head to the newest one and returns `false`.
    pub(super) fn counts(&mut self, sums: &ChainTotals) -> Result<bool, StoreError> {
        let reader = self.reader.clone();
        let outcome = reader.read(|read_txn, progress| match progress.head {
            Some(head) if head.number > self.head => Ok(Err(head)),
            _ => faults(read_txn, progress, sums, self.head).map(Ok),
        })?;
        match outcome {
            Ok(faults) => self.faults(faults),
            Err(newer) => {
                (self.head, self.verified.head) = (newer.number, Some(newer));
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn faults(
    read_txn: &ReadTransaction<'_>,
    progress: &Progress,
    sums: &ChainTotals,
    head: u64,
) -> Result<Vec<Fault>, StoreError> {
    let (tables, blocks) = (read_txn.tables, head + 1);
    let mut found_steps = 0;
    for number in progress.steps_from..=head {
        found_steps += readable(read_txn.record(number))?.map_or(0, |(_, record)| u64::from(record.steps));
    }
    let expected = [
        (&tables.headers, blocks),
        (&tables.bodies, sums.bodies),
        (&tables.transactions, sums.transactions),
        (&tables.receipts, sums.transactions),
        (&tables.logs, sums.logs),
        (&tables.steps, sums.steps),
        (&tables.block_hashes, blocks),
        (&tables.transaction_hashes, sums.transactions),
        (&tables.step_hashes, found_steps),
    ];
    let mut faults = Vec::new();
    for (table, expected) in expected {
        let entries = table.stat(read_txn.txn)?.entries as u64;
        if entries != expected {
            let why = format!("it has {entries} entries, the blocks account for {expected}");
            faults.push(fault(table, &[], why));
            faults.extend(strays(read_txn, table, head)?);
        }
    }
    if progress.logs != sums.logs {
        faults.push(fault(&tables.meta, b"progress", "the number of logs is not that of the blocks"));
    }
    Ok(faults)
}

/// Returns the entries of a table that belong to no block, as far as its keys or values show.
fn strays(read_txn: &ReadTransaction<'_>, table: &Table, head: u64) -> Result<Vec<Fault>, StoreError> {
    let tables = read_txn.tables;
    let mut strays = Vec::new();
    let by_number = [&tables.headers, &tables.bodies, &tables.transactions, &tables.receipts, &tables.steps];
    let by_hash = [&tables.block_hashes, &tables.transaction_hashes, &tables.step_hashes];
    let named = |list: &[&Table]| list.iter().any(|one| one.name == table.name);
    if named(&by_number) {
        for entry in table.from(read_txn.txn, &key::number(head + 1))? {
            strays.push(fault(table, entry?.0, "it belongs to a block that is not stored"));
        }
    } else if named(&by_hash) {
        for entry in table.from(read_txn.txn, &[])? {
            let (key, value) = entry?;
            if !is_named_by(read_txn, table, key, value)? {
                strays.push(fault(table, key, "nothing has this hash where it points to"));
            }
        }
    }
    Ok(strays)
}

/// Returns `true` if the item that an index entry references has the entry's hash.
fn is_named_by(
    read_txn: &ReadTransaction<'_>,
    table: &Table,
    hash: &[u8],
    value: &[u8],
) -> Result<bool, StoreError> {
    let tables = read_txn.tables;
    if table.name == tables.block_hashes.name {
        let Ok(number) = key::read_number(table, hash, value) else { return Ok(false) };
        return Ok(readable(read_txn.block_hash(number))?.is_some_and(|stored| stored.as_slice() == hash));
    }
    let Ok((number, index)) = key::decode_position(table, hash, value) else { return Ok(false) };
    let stored = if table.name == tables.transaction_hashes.name {
        readable(read_txn.transaction(number, index))?.map(|transaction| transaction.hash())
    } else {
        readable(read_txn.step(number, index))?.map(|step| step.hash)
    };
    Ok(stored.is_some_and(|stored| stored.as_slice() == hash))
}
