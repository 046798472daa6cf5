//! Names of blocks in the mode of a view.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_primitives::Transaction;
use foreseal_state::StateError;

use crate::{
    hash_index::Position,
    read_mode::ReadMode,
    view::{BlockId, View},
};

impl View {
    /// Returns this view in `mode`.
    #[must_use]
    pub fn in_mode(self: &Arc<Self>, mode: ReadMode) -> Arc<Self> {
        let convert = || Arc::new(Self { mode, ..Self::clone(self) });
        match mode {
            same if same == self.mode => self.clone(),
            ReadMode::Standard => convert(),
            ReadMode::Sealed => self.converted.sealed.get_or_init(convert).clone(),
            ReadMode::Preconfirmed => self.converted.preconfirmed.get_or_init(convert).clone(),
        }
    }

    /// Returns the mode in which names of blocks resolve.
    pub fn mode(&self) -> ReadMode {
        self.mode
    }

    /// Returns the number of the newest block that a number names, sealed or being built.
    pub fn newest_number(&self) -> u64 {
        if self.shows_open_block() { self.pending.number() } else { self.latest().number() }
    }

    /// Returns the transaction with this hash if the block being built has it, in every mode.
    pub fn open_transaction(&self, hash: &B256) -> Result<Option<Arc<Transaction>>, StateError> {
        let position = self.any_transaction_position(hash)?;
        let index = position.filter(|position| self.is_open(*position)).map(|position| position.index);
        let transaction = index.and_then(|index| self.pending.block.transactions.get(index));
        Ok(transaction.filter(|transaction| transaction.hash() == *hash).cloned())
    }

    /// Returns the block that `id` means in the mode of this view.
    pub(crate) fn meaning(&self, id: BlockId) -> BlockId {
        match id {
            BlockId::Latest if self.shows_open_block() => BlockId::Pending,
            BlockId::Number(number) if number == self.pending.number() && self.shows_open_block() => {
                BlockId::Pending
            }
            id => id,
        }
    }

    /// Returns `true` if `latest` is the block being built. A node that does not produce may have no step of it.
    fn shows_open_block(&self) -> bool {
        self.mode == ReadMode::Preconfirmed && !self.pending.steps.is_empty()
    }

    /// Returns `true` if hashes of steps, and of what is only in the block being built, are unknown.
    pub(crate) fn hides_steps(&self) -> bool {
        self.mode == ReadMode::Sealed
    }

    /// Returns `true` if the mode of this view shows the position.
    pub(crate) fn is_visible(&self, position: Position) -> bool {
        !(self.hides_steps() && self.is_open(position))
    }

    /// Returns `true` if the position is in the block being built.
    fn is_open(&self, position: Position) -> bool {
        position.number == self.pending.number()
    }
}
