//! Reads of one generation of the store.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use foreseal_primitives::{Block, Receipt, Transaction};

use crate::{
    block::{BlockRecord, BlockWithoutLogs, StoredLog, StoredStep},
    error::StoreError,
    meta::Progress,
    read_transaction::ReadTransaction,
    store::Store,
};

/// Read access to the store until a block is unwound; from then on
/// every read returns [`StoreError::ViewGone`].
///
/// Each method is one short transaction. Blocks written later can be read too: a stored block does not
/// change, except that its proofs and steps leave their windows.
///
/// The states of stored blocks are read through [`StateStore`](foreseal_state::StateStore).
#[derive(Clone, Debug)]
pub struct Reader {
    store: Store,
    generation: u64,
}

impl Store {
    /// Returns a reader, whose reads fail once blocks are unwound.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Ok(self.reader_of(self.progress()?.generation))
    }

    /// Same as [`Self::reader`], for an earlier generation.
    pub fn reader_of(&self, generation: u64) -> Reader {
        Reader::new(self.clone(), generation)
    }
}

impl Reader {
    pub(crate) fn new(store: Store, generation: u64) -> Self {
        Self { store, generation }
    }

    /// Returns the number of unwinds at the time this reader was created.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&ReadTransaction<'_>, &Progress) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.store.read(|read_txn, progress| {
            if progress.generation != self.generation {
                return Err(StoreError::ViewGone);
            }
            work(read_txn, progress)
        })
    }

    fn get<T>(
        &self,
        work: impl FnOnce(&ReadTransaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.read(|read_txn, _| work(read_txn))
    }

    /// Returns the progress of the store.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        self.read(|_, progress| Ok(*progress))
    }

    /// Returns the hash of a block.
    pub fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        self.get(|read_txn| read_txn.block_hash(number))
    }

    /// Returns the hash, header and counts of a block.
    pub fn record(&self, number: u64) -> Result<Option<(B256, BlockRecord)>, StoreError> {
        self.get(|read_txn| read_txn.record(number))
    }

    /// Returns a whole block, as it was written.
    pub fn block(&self, number: u64) -> Result<Option<Block>, StoreError> {
        self.get(|read_txn| read_txn.block(number))
    }

    /// Returns a block without its logs.
    pub fn block_without_logs(&self, number: u64) -> Result<Option<BlockWithoutLogs>, StoreError> {
        self.get(|read_txn| read_txn.block_without_logs(number))
    }

    /// Returns the number of the block with this hash.
    pub fn number_of(&self, hash: &B256) -> Result<Option<u64>, StoreError> {
        self.get(|read_txn| read_txn.number_of(hash))
    }

    /// Returns all receipts of a block.
    pub fn receipts(&self, number: u64) -> Result<Option<Vec<Arc<Receipt>>>, StoreError> {
        self.get(|read_txn| {
            let record = read_txn.record(number)?;
            record.map(|(_, record)| read_txn.receipts(number, &record)).transpose()
        })
    }

    /// Returns one receipt of a block.
    pub fn receipt(&self, number: u64, index: u32) -> Result<Option<Receipt>, StoreError> {
        self.get(|read_txn| read_txn.receipt(number, index))
    }

    /// Returns one transaction of a block.
    pub fn transaction(&self, number: u64, index: u32) -> Result<Option<Arc<Transaction>>, StoreError> {
        self.get(|read_txn| read_txn.transaction(number, index))
    }

    /// Returns the block number and the index of the transaction with this hash.
    pub fn transaction_position(&self, hash: &B256) -> Result<Option<(u64, u32)>, StoreError> {
        self.get(|read_txn| read_txn.transaction_position(hash))
    }

    /// Returns the steps of a block by index; empty for genesis and imported blocks.
    pub fn steps(&self, number: u64) -> Result<Option<Vec<StoredStep>>, StoreError> {
        self.get(|read_txn| {
            let record = read_txn.record(number)?;
            record.map(|(_, record)| read_txn.steps(number, record.steps)).transpose()
        })
    }

    /// Returns one step of a block.
    pub fn step(&self, number: u64, index: u32) -> Result<Option<StoredStep>, StoreError> {
        self.get(|read_txn| read_txn.step(number, index))
    }

    /// Returns the block number and the index of the step with this hash, if its block is in the step window.
    pub fn step_position(&self, hash: &B256) -> Result<Option<(u64, u32)>, StoreError> {
        self.get(|read_txn| read_txn.step_position(hash))
    }

    /// Returns the log with this ordinal.
    pub fn log(&self, ordinal: u64) -> Result<Option<StoredLog>, StoreError> {
        self.get(|read_txn| read_txn.log(ordinal))
    }

    /// Returns the code with this hash, as it was deployed.
    pub fn code_bytes(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.get(|read_txn| read_txn.code(hash))
    }
}
