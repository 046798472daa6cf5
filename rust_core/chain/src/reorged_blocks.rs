//! Reorged blocks, for readers that have seen them on the chain.

use std::sync::Arc;

use alloy_primitives::B256;

use crate::{executed_block::ExecutedBlock, step_cursor::StepCursor};

mod block;
mod list;
mod unreplayed_journal;

pub use block::ReorgedBlock;
use list::BlockList;
pub use unreplayed_journal::UnreplayedJournal;

/// Blocks that an unwind took off the chain, sealed or being built, in order; the most recent is last. Memory
/// holds those since the node started and those that the journal's replay unwound again. Older ones are read
/// from the journal.
#[derive(Clone, Debug, Default)]
pub struct ReorgedBlocks {
    blocks: BlockList,
    /// Number of reorged blocks so far, including evicted ones.
    count: u64,
    older: Option<Arc<UnreplayedJournal>>,
}

impl ReorgedBlocks {
    /// Sets the source of older blocks, and starts the count at `count`. Of either kind, memory holds at most half of
    /// `max_bytes`.
    pub(crate) fn set_older(&mut self, older: UnreplayedJournal, count: u64, max_bytes: usize) {
        self.blocks.max_bytes = max_bytes / 2;
        self.older = Some(Arc::new(older.with_max_bytes(max_bytes / 2)));
        self.count = count;
    }

    pub(crate) fn push(&mut self, executed: &ExecutedBlock) {
        self.add(ReorgedBlock::new(executed));
    }

    fn add(&mut self, block: ReorgedBlock) {
        self.count += 1;
        self.blocks.push(block);
    }

    /// Returns the size of the blocks in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.bytes + self.older.as_ref().map_or(0, |older| older.bytes())
    }

    /// Returns the number of blocks taken off the chain since the start of the node.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the first result of `find` among the blocks with this number, starting with the most recent.
    fn find_map<'s, T>(
        &'s self,
        number: u64,
        find: impl Fn(&'s Arc<ReorgedBlock>) -> Option<T>,
    ) -> Option<T> {
        let older = || self.older.as_ref()?.blocks().find_map(number, &find);
        self.blocks.find_map(number, &find).or_else(older)
    }

    /// Returns the block that had this hash, at one of its steps or in its final form, and the number of logs
    /// it had then. `None` if it was never on the chain or is no longer available.
    pub fn find(&self, number: u64, hash: &B256) -> Option<(&Arc<ReorgedBlock>, u64)> {
        self.find_map(number, |block| Some((block, block.logs_at(hash)?)))
    }

    /// Returns the block that contained the step at `cursor`, and the step's index. Of several blocks, returns
    /// the most recent.
    pub(crate) fn find_step(&self, cursor: StepCursor) -> Option<(&Arc<ReorgedBlock>, usize)> {
        let block = self.find_map(cursor.number, |block| block.steps().holds(cursor).then_some(block))?;
        Some((block, usize::try_from(cursor.index).ok()?))
    }

    /// Returns the block that had this hash in its final form.
    pub(crate) fn find_block(&self, number: u64, hash: &B256) -> Option<&Arc<ReorgedBlock>> {
        self.find_map(number, |block| (block.block().hash == *hash).then_some(block))
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::Header;
    use foreseal_primitives::Block;
    use foreseal_testkit::receipt_of_size;
    use imbl::Vector;

    use super::{
        list::{MAX_BLOCKS, MAX_BYTES},
        *,
    };

    /// Creates a block without transactions that holds one receipt with a log of this many bytes.
    fn block(number: u64, bytes: usize) -> ReorgedBlock {
        let header = Header { number, ..Header::default() };
        let block = Block {
            hash: header.hash_slow(),
            header,
            transactions: Vector::new(),
            receipts: Vector::unit(Arc::new(receipt_of_size(bytes))),
            uncles: Vec::new(),
            withdrawals: None,
            transactions_length: 0,
        };
        ReorgedBlock { block, steps: Vector::new() }
    }

    fn is_retained(reorged: &ReorgedBlocks, number: u64) -> bool {
        reorged.find_block(number, &block(number, 0).block.hash).is_some()
    }

    #[test]
    fn the_oldest_blocks_are_evicted_above_the_count_limit() {
        let mut reorged = ReorgedBlocks::default();
        for number in 1..=MAX_BLOCKS as u64 + 10 {
            reorged.add(block(number, 0));
        }
        assert_eq!((reorged.blocks.blocks.len(), reorged.count()), (MAX_BLOCKS, MAX_BLOCKS as u64 + 10));
        assert!(
            !is_retained(&reorged, 10)
                && is_retained(&reorged, 11)
                && is_retained(&reorged, MAX_BLOCKS as u64 + 10)
        );
    }

    #[test]
    fn the_oldest_blocks_are_evicted_above_the_size_limit() {
        let mut reorged = ReorgedBlocks::default();
        for number in 1..=8 {
            reorged.add(block(number, MAX_BYTES / 4));
        }
        assert!(!is_retained(&reorged, 5) && is_retained(&reorged, 6) && is_retained(&reorged, 8));
        assert_eq!(
            reorged.blocks.bytes,
            reorged.blocks.blocks.iter().map(|block| block.bytes()).sum::<usize>()
        );
        reorged.add(block(9, 2 * MAX_BYTES));
        assert!(!is_retained(&reorged, 8) && is_retained(&reorged, 9), "the newest is kept, however large");
    }

    #[test]
    fn a_step_in_several_blocks_resolves_to_the_newest() {
        let mut reorged = ReorgedBlocks::default();
        reorged.add(block(1, 0));
        reorged.add(block(2, 0));
        reorged.add(block(1, 7));
        let cursor = block(1, 0).steps().last();
        let (newest, index) = reorged.find_step(cursor).unwrap();
        assert_eq!((index, newest.block().receipts[0].logs[0].data.data.len()), (0, 7));
        assert!(reorged.find_step(StepCursor { index: 1, ..cursor }).is_none());
        assert!(reorged.find_step(StepCursor { number: 2, ..cursor }).is_none());
    }
}
