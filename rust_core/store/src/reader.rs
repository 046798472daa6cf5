//! Reads of one generation.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use foreseal_types::{Block, Receipt, Transaction};

use crate::{BlockRecord, Progress, Store, StoreError, StoredLog, StoredStep, snapshot::Snapshot};

/// Reads of the store as long as nothing of it is unwound; then each answers [`StoreError::ViewGone`].
///
/// Each method is one short transaction. Blocks written later can be read too: what is stored of a block does not
/// change, except that proofs and steps leave their windows.
///
/// The states of stored blocks are read through [`StateStore`](foreseal_state::StateStore).
#[derive(Clone, Debug)]
pub struct Reader {
    store: Store,
    generation: u64,
}

impl Reader {
    pub(crate) fn new(store: Store, generation: u64) -> Self {
        Self { store, generation }
    }

    /// How often blocks had been unwound when this reader was made.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The store that is read.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Snapshot<'_>, &Progress) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.store.read(|snapshot, progress| {
            if progress.generation != self.generation {
                return Err(StoreError::ViewGone);
            }
            work(snapshot, progress)
        })
    }

    fn get<T>(&self, work: impl FnOnce(&Snapshot<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.read(|snapshot, _| work(snapshot))
    }

    /// How far the store has come.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        self.read(|_, progress| Ok(*progress))
    }

    /// A block's hash.
    pub fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        self.get(|snapshot| snapshot.block_hash(number))
    }

    /// A block's hash, header and counts.
    pub fn record(&self, number: u64) -> Result<Option<(B256, BlockRecord)>, StoreError> {
        self.get(|snapshot| snapshot.record(number))
    }

    /// A whole block, as it was written.
    pub fn block(&self, number: u64) -> Result<Option<Block>, StoreError> {
        self.get(|snapshot| snapshot.block(number))
    }

    /// The number of the block with this hash.
    pub fn number_of(&self, hash: &B256) -> Result<Option<u64>, StoreError> {
        self.get(|snapshot| snapshot.number_of(hash))
    }

    /// All receipts of a block.
    pub fn receipts(&self, number: u64) -> Result<Option<Vec<Arc<Receipt>>>, StoreError> {
        self.get(|snapshot| {
            let record = snapshot.record(number)?;
            record.map(|(_, record)| snapshot.receipts(number, &record)).transpose()
        })
    }

    /// One receipt of a block.
    pub fn receipt(&self, number: u64, index: u32) -> Result<Option<Receipt>, StoreError> {
        self.get(|snapshot| snapshot.receipt(number, index))
    }

    /// One transaction of a block.
    pub fn transaction(&self, number: u64, index: u32) -> Result<Option<Arc<Transaction>>, StoreError> {
        self.get(|snapshot| snapshot.transaction(number, index))
    }

    /// Block number and index of the transaction with this hash.
    pub fn place_of(&self, hash: &B256) -> Result<Option<(u64, u32)>, StoreError> {
        self.get(|snapshot| snapshot.place_of(hash))
    }

    /// The steps of a block by index; none for genesis and imported blocks.
    pub fn steps(&self, number: u64) -> Result<Option<Vec<StoredStep>>, StoreError> {
        self.get(|snapshot| {
            let record = snapshot.record(number)?;
            record.map(|(_, record)| snapshot.steps(number, record.steps)).transpose()
        })
    }

    /// One step of a block.
    pub fn step(&self, number: u64, index: u32) -> Result<Option<StoredStep>, StoreError> {
        self.get(|snapshot| snapshot.step(number, index))
    }

    /// Block number and index of the step with this hash, if the block is among the newest.
    pub fn step_place(&self, hash: &B256) -> Result<Option<(u64, u32)>, StoreError> {
        self.get(|snapshot| snapshot.step_place(hash))
    }

    /// The log with this ordinal.
    pub fn log(&self, ordinal: u64) -> Result<Option<StoredLog>, StoreError> {
        self.get(|snapshot| snapshot.log(ordinal))
    }

    /// Code by its hash, as it was deployed.
    pub fn code_bytes(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.get(|snapshot| snapshot.code(hash))
    }
}
