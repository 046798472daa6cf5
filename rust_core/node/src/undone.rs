//! Blocks that are no longer on the chain, for readers who have seen them there.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_types::{Block, FoundLog, LogFilter, Receipt};
use imbl::Vector;

use crate::{
    Executed, Step,
    feed::{Place, Steps},
};

/// What is kept, at most; the oldest block goes first.
const BLOCKS: usize = 4096;
/// As [`UndoneBlock::bytes`] counts.
const BYTES: usize = 128 << 20;

/// Blocks that an unwind took off the chain, sealed or being built, the last one last. In memory only: a start knows
/// those that the journal's replay unwinds again.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    blocks: Vector<Arc<UndoneBlock>>,
    bytes: usize,
    /// How many there ever were.
    count: u64,
}

/// A block that was on the chain, without its state.
#[derive(Debug)]
pub struct UndoneBlock {
    block: Block,
    steps: Vector<Arc<Step>>,
}

impl Undone {
    pub(crate) fn push(&mut self, gone: &Executed) {
        let block = UndoneBlock::new(gone);
        self.count += 1;
        self.bytes += block.bytes();
        self.blocks.push_back(Arc::new(block));
        while self.blocks.len() > BLOCKS || self.bytes > BYTES && self.blocks.len() > 1 {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// How many blocks were ever taken off the chain, since the start of the node.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    fn of_number(&self, number: u64) -> impl Iterator<Item = &Arc<UndoneBlock>> {
        self.blocks.iter().rev().filter(move |block| block.number() == number)
    }

    /// The block that had this hash, at one of its steps or in the end, and how many logs it had then. `None` if it was
    /// never on the chain or is no longer kept.
    pub fn find(&self, number: u64, hash: &B256) -> Option<(&Arc<UndoneBlock>, u64)> {
        self.of_number(number).find_map(|block| Some((block, block.logs_at(hash)?)))
    }

    /// The block that went through the step at `place`, and the step's index. The last one if there were several.
    pub(crate) fn find_step(&self, place: Place) -> Option<(&Arc<UndoneBlock>, usize)> {
        let found = self.of_number(place.number).find(|block| block.steps().holds(place))?;
        Some((found, usize::try_from(place.index).ok()?))
    }

    /// The block that had this hash in the end.
    pub(crate) fn find_block(&self, number: u64, hash: &B256) -> Option<&Arc<UndoneBlock>> {
        self.of_number(number).find(|block| block.block.hash == *hash)
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

    /// About what it takes in memory.
    fn bytes(&self) -> usize {
        let of_receipt = |receipt: &Arc<Receipt>| {
            let of_log = |log: &alloy_primitives::Log| {
                size_of_val(log) + size_of_val(log.topics()) + log.data.data.len()
            };
            size_of::<Receipt>() + receipt.logs.iter().map(of_log).sum::<usize>()
        };
        let transactions = size_of::<foreseal_types::Transaction>() * self.block.transactions.len();
        let receipts: usize = self.block.receipts.iter().map(of_receipt).sum();
        let steps = size_of::<Step>() * self.steps.len();
        // Decoded, and as the bytes that were signed.
        size_of::<Self>() + steps + transactions + 2 * self.block.transactions_length + receipts
    }

    /// How many logs it had when its hash was `hash`.
    fn logs_at(&self, hash: &B256) -> Option<u64> {
        if self.block.hash == *hash {
            return Some(self.block.log_count(self.block.receipts.len()));
        }
        let step = self.steps.iter().rev().find(|step| step.hash == *hash)?;
        Some(self.block.log_count(step.transactions))
    }

    /// The block as it was in the end.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.block.header.number
    }

    /// Hash of the block before it.
    pub fn parent(&self) -> B256 {
        self.block.header.parent_hash
    }

    pub(crate) fn steps(&self) -> Steps<'_> {
        Steps::new(&self.block, &self.steps)
    }

    /// The matching logs in front of the one with index `end`, the last one first: the order in which they are undone.
    /// They carry `hash`, that of the block as the reader saw it.
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
