//! Reorged blocks, for readers that have seen them on the chain.

use std::sync::Arc;

use alloy_primitives::{B256, Log};
use foreseal_primitives::{Block, FoundLog, LogFilter, Receipt, Transaction};
use imbl::Vector;

use crate::{
    Executed, Step,
    feed::{Place, Steps},
};

mod older;

pub(crate) use older::Older;

/// Maximum number of reorged blocks in memory; the oldest is evicted first.
const BLOCKS: usize = 4096;
/// Maximum size of these blocks, in bytes, as estimated by [`UndoneBlock::bytes`].
const BYTES: usize = 128 << 20;

/// Blocks that an unwind took off the chain, sealed or being built, in order; the most recent is last. Memory
/// holds those since the node started and those that the journal's replay unwound again. Older ones are read
/// from the journal.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    blocks: Vector<Arc<UndoneBlock>>,
    bytes: usize,
    /// Number of reorged blocks so far, including evicted ones.
    count: u64,
    older: Option<Arc<Older>>,
}

/// A block that was on the chain, without its state.
#[derive(Debug)]
pub struct UndoneBlock {
    block: Block,
    steps: Vector<Arc<Step>>,
}

impl Undone {
    /// Sets the source of older blocks, and starts the count at `count`.
    pub(crate) fn set_older(&mut self, older: Older, count: u64) {
        self.older = Some(Arc::new(older));
        self.count = count;
    }

    pub(crate) fn push(&mut self, gone: &Executed) {
        self.add(UndoneBlock::new(gone));
    }

    fn add(&mut self, block: UndoneBlock) {
        self.count += 1;
        self.bytes += block.bytes();
        self.blocks.push_back(Arc::new(block));
        while self.blocks.len() > BLOCKS || self.bytes > BYTES && self.blocks.len() > 1 {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// Returns the number of blocks taken off the chain since the start of the node.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the first result of `find` among the blocks with this number, starting with the most recent.
    fn find_map<'s, T>(&'s self, number: u64, find: impl Fn(&'s Arc<UndoneBlock>) -> Option<T>) -> Option<T> {
        let find = |block: &'s Arc<UndoneBlock>| (block.number() == number).then(|| find(block)).flatten();
        let older = || self.older.as_ref()?.undone().blocks.iter().rev().find_map(find);
        self.blocks.iter().rev().find_map(find).or_else(older)
    }

    /// Returns the block that had this hash, at one of its steps or in its final form, and the number of logs
    /// it had then. `None` if it was never on the chain or is no longer available.
    pub fn find(&self, number: u64, hash: &B256) -> Option<(&Arc<UndoneBlock>, u64)> {
        self.find_map(number, |block| Some((block, block.logs_at(hash)?)))
    }

    /// Returns the block that contained the step at `place`, and the step's index. Of several blocks, returns
    /// the most recent.
    pub(crate) fn find_step(&self, place: Place) -> Option<(&Arc<UndoneBlock>, usize)> {
        let found = self.find_map(place.number, |block| block.steps().holds(place).then_some(block))?;
        Some((found, usize::try_from(place.index).ok()?))
    }

    /// Returns the block that had this hash in its final form.
    pub(crate) fn find_block(&self, number: u64, hash: &B256) -> Option<&Arc<UndoneBlock>> {
        self.find_map(number, |block| (block.block.hash == *hash).then_some(block))
    }
}

impl UndoneBlock {
    fn new(gone: &Executed) -> Self {
        let stateless = |step: &Arc<Step>| match step.state {
            Some(_) => Arc::new(Step { state: None, ..Step::clone(step) }),
            None => step.clone(),
        };
        Self { block: gone.block.clone(), steps: gone.steps.iter().map(stateless).collect() }
    }

    /// Returns the approximate size in memory, in bytes.
    fn bytes(&self) -> usize {
        let steps = size_of::<Step>() * self.steps.len();
        size_of::<Self>() + steps + bytes_of(&self.block.transactions, &self.block.receipts)
    }

    /// Returns the number of logs that the block had when its hash was `hash`.
    fn logs_at(&self, hash: &B256) -> Option<u64> {
        if self.block.hash == *hash {
            return Some(self.block.log_count(self.block.receipts.len()));
        }
        let step = self.steps.iter().rev().find(|step| step.hash == *hash)?;
        Some(self.block.log_count(step.transactions))
    }

    /// Returns the block in its final form.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Returns the number of the block.
    pub fn number(&self) -> u64 {
        self.block.header.number
    }

    /// Returns the hash of the parent block.
    pub fn parent(&self) -> B256 {
        self.block.header.parent_hash
    }

    pub(crate) fn steps(&self) -> Steps<'_> {
        Steps::new(&self.block, &self.steps)
    }

    /// Returns the matching logs before index `end`, last one first: the order in which they are revoked.
    /// Each has `hash` as its block hash, which is the hash that the reader saw.
    pub fn logs_before<'a>(
        &'a self,
        filter: &'a LogFilter,
        end: u64,
        hash: B256,
    ) -> impl Iterator<Item = FoundLog<'a>> {
        let block = &self.block;
        let entries = block.transactions.iter().zip(&block.receipts).enumerate().rev();
        let with_logs = entries.filter(|(_, (_, receipt))| !receipt.logs.is_empty());
        let all = with_logs.flat_map(move |(at, (transaction, receipt))| {
            let transaction = transaction.hash();
            let numbered = (receipt.first_log_index..).zip(&receipt.logs);
            numbered.collect::<Vec<_>>().into_iter().rev().map(move |(index, log)| FoundLog {
                block_number: block.header.number,
                block_hash: hash,
                timestamp: block.header.timestamp,
                transaction_hash: transaction,
                transaction_index: at as u64,
                index,
                log,
            })
        });
        all.filter(move |found| found.index < end && filter.matches(found.log))
    }
}

/// Returns the approximate size of transactions and their receipts in memory, in bytes.
fn bytes_of<'a>(
    transactions: impl IntoIterator<Item = &'a Arc<Transaction>>,
    receipts: impl IntoIterator<Item = &'a Arc<Receipt>>,
) -> usize {
    // A transaction is held twice: decoded, and as the signed bytes.
    let of_transaction = |one: &Arc<Transaction>| size_of::<Transaction>() + 2 * one.encoded().len();
    let of_log = |log: &Log| size_of_val(log) + size_of_val(log.topics()) + log.data.data.len();
    let of_receipt = |one: &Arc<Receipt>| size_of::<Receipt>() + one.logs.iter().map(of_log).sum::<usize>();
    let transactions = transactions.into_iter().map(of_transaction).sum::<usize>();
    transactions + receipts.into_iter().map(of_receipt).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use alloy_consensus::Header;
    use alloy_primitives::{Address, Bloom, Bytes, LogData};

    use super::*;

    /// Creates a block without transactions that holds one receipt with a log of this many bytes.
    fn block(number: u64, bytes: usize) -> UndoneBlock {
        let header = Header { number, ..Header::default() };
        let data = LogData::new_unchecked(vec![B256::ZERO], Bytes::from(vec![0; bytes]));
        let receipt = Receipt {
            kind: 2,
            status: true.into(),
            cumulative_gas_used: 0,
            logs: vec![Log { address: Address::ZERO, data }],
            bloom: Bloom::ZERO,
            gas_used: 0,
            contract_address: None,
            first_log_index: 0,
        };
        let block = Block {
            hash: header.hash_slow(),
            header,
            transactions: Vector::new(),
            receipts: Vector::unit(Arc::new(receipt)),
            uncles: Vec::new(),
            withdrawals: None,
            transactions_length: 0,
        };
        UndoneBlock { block, steps: Vector::new() }
    }

    fn kept(undone: &Undone, number: u64) -> bool {
        undone.find_block(number, &block(number, 0).block.hash).is_some()
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let mut undone = Undone::default();
        for number in 1..=BLOCKS as u64 + 10 {
            undone.add(block(number, 0));
        }
        assert_eq!((undone.blocks.len(), undone.count()), (BLOCKS, BLOCKS as u64 + 10));
        assert!(!kept(&undone, 10) && kept(&undone, 11) && kept(&undone, BLOCKS as u64 + 10));
    }

    #[test]
    fn the_oldest_go_when_they_are_too_large() {
        let mut undone = Undone::default();
        for number in 1..=8 {
            undone.add(block(number, BYTES / 4));
        }
        assert!(!kept(&undone, 5) && kept(&undone, 6) && kept(&undone, 8));
        assert_eq!(undone.bytes, undone.blocks.iter().map(|block| block.bytes()).sum::<usize>());
        undone.add(block(9, 2 * BYTES));
        assert!(!kept(&undone, 8) && kept(&undone, 9), "the newest is kept, however large");
    }

    #[test]
    fn of_several_blocks_with_a_step_the_newest_is_found() {
        let mut undone = Undone::default();
        undone.add(block(1, 0));
        undone.add(block(2, 0));
        undone.add(block(1, 7));
        let place = block(1, 0).steps().last();
        let (found, index) = undone.find_step(place).unwrap();
        assert_eq!((index, found.block().receipts[0].logs[0].data.data.len()), (0, 7));
        assert!(undone.find_step(Place { index: 1, ..place }).is_none());
        assert!(undone.find_step(Place { number: 2, ..place }).is_none());
    }
}
