//! Index entries of a block, derived from the block itself.

use super::{log::StoredLog, write::Indexes};
use crate::{error::StoreError, key, meta::Progress, read_transaction::ReadTransaction};

impl Indexes {
    /// Adds the index entries of a stored block and its contents.
    pub fn add_stored(
        &mut self,
        read_txn: &ReadTransaction<'_>,
        progress: &Progress,
        number: u64,
    ) -> Result<(), StoreError> {
        let (hash, record) = read_txn.existing_record(number)?;
        self.blocks.push(hash.as_slice(), &key::number(number));
        for (index, hash) in (0..).zip(read_txn.transaction_hashes(number, record.transactions)?) {
            self.transactions.push(hash.as_slice(), &key::block_item(number, index));
        }
        if number >= progress.steps_from {
            for (index, step) in (0..).zip(read_txn.steps(number, record.steps)?) {
                self.steps.push(step.hash.as_slice(), &key::block_item(number, index));
            }
        }
        for (ordinal, StoredLog { log, .. }) in
            (record.first_log..).zip(read_txn.logs(record.first_log, record.logs)?)
        {
            self.logs.add(ordinal, &log);
        }
        Ok(())
    }
}
