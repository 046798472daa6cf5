//! Unwinding a block.

use alloy_primitives::Log;
use foreseal_keccak::keccak;
use heed::RwTxn;

use super::log::StoredLog;
use crate::{error::StoreError, key, meta::Progress, read_transaction::ReadTransaction, table::Tables};

/// Removes the newest block and its index entries. `progress.head` still names it: the caller updates that.
pub(crate) fn unwind_block(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    progress: &mut Progress,
    number: u64,
) -> Result<(), StoreError> {
    let read_txn = ReadTransaction::new(txn, tables);
    let (hash, record) = read_txn.existing_record(number)?;
    let hashes = read_txn.transaction_hashes(number, record.transactions)?;
    let steps =
        if number < progress.steps_from { Vec::new() } else { read_txn.steps(number, record.steps)? };
    let logs = read_txn.logs(record.first_log, record.logs)?;
    let logs: Vec<Log> = logs.into_iter().map(|StoredLog { log, .. }| log).collect();

    for hash in hashes {
        tables.transaction_hashes.delete(txn, hash.as_slice())?;
    }
    for step in steps {
        tables.step_hashes.delete(txn, step.hash.as_slice())?;
    }
    tables.block_hashes.delete(txn, hash.as_slice())?;
    tables.log_index().unwind(txn, record.first_log, &logs)?;
    tables.logs.delete_range(txn, &key::number(record.first_log), &[u8::MAX; 8])?;
    progress.logs = record.first_log;
    for table in [&tables.headers, &tables.bodies, &tables.transactions, &tables.receipts, &tables.steps] {
        table.delete_range(txn, &key::number(number), &[u8::MAX; 8])?;
    }
    Ok(())
}

/// Adds the hash index entries of steps whose blocks are in the window again.
pub(crate) fn restore_step_window(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    progress: &mut Progress,
    window: u64,
) -> Result<(), StoreError> {
    let next = progress.head.map_or(0, |head| head.number + 1);
    progress.steps_from = progress.steps_from.min(next);
    while progress.steps_from > next.saturating_sub(window) {
        let number = progress.steps_from - 1;
        let read_txn = ReadTransaction::new(txn, tables);
        let count = read_txn.existing_record(number)?.1.steps;
        for (index, step) in (0..).zip(read_txn.steps(number, count)?) {
            tables.step_hashes.put(txn, step.hash.as_slice(), &key::block_item(number, index))?;
        }
        progress.steps_from = number;
    }
    Ok(())
}

impl ReadTransaction<'_> {
    /// Returns the hashes of a block's transactions, without decoding them.
    pub(super) fn transaction_hashes(
        &self,
        number: u64,
        count: u32,
    ) -> Result<Vec<alloy_primitives::B256>, StoreError> {
        let table = &self.tables.transactions;
        let hash = |(key, bytes): (&[u8], &[u8])| match bytes.get(20..) {
            Some(encoded) => Ok(keccak(encoded)),
            None => Err(table.damaged(key, "it is too short")),
        };
        self.list(table, number, count)?.into_iter().map(hash).collect()
    }
}
