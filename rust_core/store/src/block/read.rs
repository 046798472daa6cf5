//! Reading a whole block.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_primitives::{Block, Receipt};

use super::record::BlockRecord;
use crate::{error::StoreError, read_transaction::ReadTransaction};

/// A stored block without its logs.
#[derive(Clone, Debug)]
pub struct BlockWithoutLogs {
    /// The block, whose receipts have no logs.
    pub block: Block,
    /// Number of logs of each receipt.
    pub log_counts: Vec<u64>,
    /// Ordinal of the block's first log.
    pub first_log: u64,
}

impl ReadTransaction<'_> {
    /// Returns a stored block, as it was written.
    pub fn block(&self, number: u64) -> Result<Option<Block>, StoreError> {
        let Some((hash, record)) = self.record(number)? else { return Ok(None) };
        let receipts = self.receipts(number, &record)?;
        self.block_with(hash, record, receipts).map(Some)
    }

    /// Returns a stored block without its logs.
    pub fn block_without_logs(&self, number: u64) -> Result<Option<BlockWithoutLogs>, StoreError> {
        let Some((hash, record)) = self.record(number)? else { return Ok(None) };
        let first_log = record.first_log;
        let (receipts, log_counts) = self.receipts_without_logs(number, &record)?.into_iter().unzip();
        let block = self.block_with(hash, record, receipts)?;
        Ok(Some(BlockWithoutLogs { block, log_counts, first_log }))
    }

    fn block_with(
        &self,
        hash: B256,
        record: BlockRecord,
        receipts: Vec<Arc<Receipt>>,
    ) -> Result<Block, StoreError> {
        let number = record.header.number;
        let transactions = self.transactions(number, record.transactions)?;
        let (uncles, withdrawals) = self.body(&record.header)?;
        let length = usize::try_from(record.transactions_length);
        let damaged = || self.tables.headers.damaged(&number.to_be_bytes(), "a length is too large");
        Ok(Block {
            header: record.header,
            hash,
            transactions: transactions.into(),
            receipts: receipts.into(),
            uncles,
            withdrawals,
            transactions_length: length.map_err(|_| damaged())?,
        })
    }
}
