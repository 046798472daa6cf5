//! Reading a whole block.

use foreseal_primitives::Block;

use crate::{StoreError, snapshot::Snapshot};

impl Snapshot<'_> {
    /// Returns a stored block, as it was written.
    pub fn block(&self, number: u64) -> Result<Option<Block>, StoreError> {
        let Some((hash, record)) = self.record(number)? else { return Ok(None) };
        let transactions = self.transactions(number, record.transactions)?;
        let receipts = self.receipts(number, &record)?;
        let (uncles, withdrawals) = self.body(&record.header)?;
        let length = usize::try_from(record.transactions_length);
        let damaged = || self.tables.headers.damaged(&number.to_be_bytes(), "a length is too large");
        Ok(Some(Block {
            header: record.header,
            hash,
            transactions: transactions.into(),
            receipts: receipts.into(),
            uncles,
            withdrawals,
            transactions_length: length.map_err(|_| damaged())?,
        }))
    }
}
