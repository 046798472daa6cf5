//! Logs of blocks that are no longer on the chain, for readers who have seen them there.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_types::{FoundLog, LogFilter, Receipt};
use imbl::Vector;

use crate::Executed;

/// What is kept, at most; the oldest block goes first.
const BLOCKS: usize = 1024;
const LOGS: usize = 200_000;

/// Blocks that an unwind took off the chain, sealed or being built, the last one last. In memory only: a start knows
/// those that the journal's replay unwinds again.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    blocks: Vector<Arc<UndoneBlock>>,
    logs: usize,
}

/// The logs of a block that was on the chain.
#[derive(Debug)]
pub struct UndoneBlock {
    number: u64,
    parent: B256,
    timestamp: u64,
    /// Hash of each step, the block's own last, with the number of logs up to it.
    hashes: Vec<(B256, u64)>,
    /// Transactions with logs: hash, index, receipt.
    receipts: Vec<(B256, u64, Arc<Receipt>)>,
}

impl Undone {
    pub(crate) fn push(&mut self, gone: &Executed) {
        let block = UndoneBlock::new(gone);
        self.logs += block.weight();
        self.blocks.push_back(Arc::new(block));
        while self.blocks.len() > BLOCKS || self.logs > LOGS && self.blocks.len() > 1 {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.logs -= oldest.weight();
        }
    }

    /// The block that had this hash, at one of its steps or in the end, and how many logs it had then. `None` if it was
    /// never on the chain or is no longer kept.
    pub fn find(&self, number: u64, hash: &B256) -> Option<(&Arc<UndoneBlock>, u64)> {
        let mut of_number = self.blocks.iter().rev().filter(|block| block.number == number);
        let at = |block: &UndoneBlock| block.hashes.iter().rev().find(|(known, _)| known == hash).copied();
        of_number.find_map(|block| Some((block, at(block)?.1)))
    }
}

impl UndoneBlock {
    fn new(gone: &Executed) -> Self {
        let block = &gone.block;
        let steps = gone.steps.iter().map(|step| (step.hash, block.log_count(step.transactions)));
        let receipts = (0..).zip(block.transactions.iter().zip(&block.receipts));
        Self {
            number: block.header.number,
            parent: block.header.parent_hash,
            timestamp: block.header.timestamp,
            hashes: steps.chain([(block.hash, block.log_count(block.receipts.len()))]).collect(),
            receipts: receipts
                .filter(|(_, (_, receipt))| !receipt.logs.is_empty())
                .map(|(index, (transaction, receipt))| (transaction.hash(), index, receipt.clone()))
                .collect(),
        }
    }

    fn weight(&self) -> usize {
        self.receipts.iter().map(|(.., receipt)| receipt.logs.len()).sum()
    }

    /// Hash of the block before it.
    pub fn parent(&self) -> B256 {
        self.parent
    }

    /// The matching logs in front of the one with index `end`, the last one first: the order in which they are undone.
    /// They carry `hash`, that of the block as the reader saw it.
    pub fn logs_before<'a>(
        &'a self,
        filter: &'a LogFilter,
        end: u64,
        hash: B256,
    ) -> impl Iterator<Item = FoundLog<'a>> {
        let of_receipt = move |(transaction, at, receipt): &'a (B256, u64, Arc<Receipt>)| {
            let numbered = (receipt.first_log_index..).zip(&receipt.logs);
            numbered.collect::<Vec<_>>().into_iter().rev().map(move |(index, log)| FoundLog {
                block_number: self.number,
                block_hash: hash,
                timestamp: self.timestamp,
                transaction_hash: *transaction,
                transaction_index: *at,
                index,
                log,
            })
        };
        let all = self.receipts.iter().rev().flat_map(of_receipt);
        all.filter(move |found| found.index < end && filter.matches(found.log))
    }
}
