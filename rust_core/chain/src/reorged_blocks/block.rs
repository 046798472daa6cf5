//! A block that was reorged off the chain.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_primitives::{Block, FoundLog, LogFilter};
use imbl::Vector;

use crate::{
    block_at_step::Steps,
    executed_block::{ExecutedBlock, Step},
    memory_size::contents_size,
};

/// A block that was on the chain, without its state.
#[derive(Debug)]
pub struct ReorgedBlock {
    pub(super) block: Block,
    pub(super) steps: Vector<Arc<Step>>,
}

impl ReorgedBlock {
    pub(super) fn new(executed: &ExecutedBlock) -> Self {
        let stateless = |step: &Arc<Step>| match step.state {
            Some(_) => Arc::new(Step { state: None, ..Step::clone(step) }),
            None => step.clone(),
        };
        Self { block: executed.block.clone(), steps: executed.steps.iter().map(stateless).collect() }
    }

    /// Returns the approximate size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let steps = size_of::<Step>() * self.steps.len();
        size_of::<Self>() + steps + contents_size(&self.block, 0)
    }

    /// Returns the number of logs that the block had when its hash was `hash`.
    pub(super) fn logs_at(&self, hash: &B256) -> Option<u64> {
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
        all.filter(move |entry| entry.index < end && filter.matches(entry.log))
    }
}
