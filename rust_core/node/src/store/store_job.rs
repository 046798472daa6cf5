//! Jobs for the store.

use std::sync::Arc;

use alloy_primitives::Bytes;
use foreseal_chain::{BlockChanges, ExecutedBlock, Step};
use foreseal_primitives::StateDiff;
use foreseal_state::{State, StateChanges, StateError};
use foreseal_store::{SealedBlock, Store, StoreError, StoredStep};

use crate::store::write_queue::{Job, Load};

/// A job for the store.
#[derive(Debug)]
pub(crate) enum StoreJob {
    /// Appends a block after the newest one.
    Write(Box<Write>),
    /// Appends the blocks of an import in one transaction.
    Import(ImportedBlocks),
    /// Unwinds the store to block `to`.
    Unwind { to: u64, sequence: u64, meta: Bytes },
}

#[derive(Debug)]
pub(crate) struct Write {
    pub block: Arc<ExecutedBlock>,
    pub changed: BlockChanges,
    /// Sequence number of the journal append that seals the block.
    pub sequence: u64,
    pub meta: Bytes,
}

impl Job for StoreJob {
    fn transactions(&self) -> Option<usize> {
        match self {
            Self::Write(write) => Some(write.transactions()),
            Self::Import(_) | Self::Unwind { .. } => None,
        }
    }

    fn load(&self) -> Load {
        match self {
            Self::Write(write) => write.load(),
            Self::Import(blocks) => blocks.writes.iter().map(Write::load).sum(),
            Self::Unwind { .. } => Load::default(),
        }
    }
}

/// Blocks of an import that are written together.
#[derive(Debug)]
pub(crate) struct ImportedBlocks {
    /// The blocks in order. The metadata of the newest one is written.
    pub writes: Vec<Write>,
    /// `true` to store the trie nodes of the newest block alone.
    pub newest_nodes: bool,
}

impl ImportedBlocks {
    /// Returns the number of the newest block.
    pub fn newest(&self) -> Option<u64> {
        self.writes.last().map(|write| write.block.number())
    }

    /// Writes the blocks after `head`, the newest block in the store.
    pub fn write(&self, store: &Store) -> Result<(), StoreError> {
        let head = store.head()?.map_or(0, |head| head.number);
        if !self.newest_nodes {
            let blocks = self.writes.iter().map(|write| write.prepare_since(&write.changed.before, head));
            return store.write(&blocks.collect::<Result<Vec<_>, _>>()?);
        }
        let (Some(first), Some((newest, earlier))) = (self.writes.first(), self.writes.split_last()) else {
            return Ok(());
        };
        let mut blocks: Vec<SealedBlock> =
            earlier.iter().map(|write| write.sealed(StateChanges::default())).collect();
        blocks.push(newest.prepare_since(&first.changed.before, head)?);
        store.write_newest_nodes(&blocks)
    }
}

impl Write {
    fn transactions(&self) -> usize {
        self.block.block.transactions.len()
    }

    fn load(&self) -> Load {
        Load::block(self.transactions(), self.block.memory_size)
    }

    /// Converts to the store's form: merges the diffs, and compares the two states to find the trie nodes
    /// that differ.
    pub fn prepare(&self) -> Result<SealedBlock, StateError> {
        Ok(self.sealed(self.block.state.changes_since(&self.changed.before)?))
    }

    /// Converts to the store's form like [`Self::prepare`], with the differences from an earlier state. Both states
    /// are read as of `head`, the newest block in the store, which may have discarded the trie nodes as of which the
    /// block was executed.
    fn prepare_since(&self, before: &State, head: u64) -> Result<SealedBlock, StoreError> {
        let nodes = self.block.state.read_at(head).changes_since(&before.read_at(head));
        Ok(self.sealed(nodes.map_err(|error| StoreError::State(error.to_string()))?))
    }

    /// Converts to the store's form with these trie nodes.
    fn sealed(&self, nodes: StateChanges) -> SealedBlock {
        let ExecutedBlock { block, steps, written, .. } = &*self.block;
        let step = |(index, step): (usize, &Arc<Step>)| {
            let written = written.iter().find(|written| written.step == index);
            stored_step(step, written.map(|written| written.diff.clone()))
        };
        SealedBlock {
            block: block.clone(),
            steps: steps.iter().enumerate().map(step).collect(),
            diff: joined(&self.changed.diffs),
            nodes,
            journal_sequence: self.sequence,
            writer_metadata: self.meta.clone(),
        }
    }
}

fn stored_step(step: &Step, written: Option<Arc<StateDiff>>) -> StoredStep {
    StoredStep {
        header: step.header.clone(),
        hash: step.hash,
        transactions: u32::try_from(step.transactions).expect("a block has fewer transactions"),
        transactions_length: step.transactions_length as u64,
        time: step.time,
        signature: step.signature,
        written,
    }
}

/// Merges the diffs into one. Merging in pairs moves each entry once per round instead of once per step.
fn joined(diffs: &[Arc<StateDiff>]) -> Arc<StateDiff> {
    match diffs {
        [] => Arc::default(),
        [one] => one.clone(),
        _ => {
            let (earlier, later) = diffs.split_at(diffs.len() / 2);
            Arc::new(Arc::unwrap_or_clone(joined(earlier)).then(&joined(later)))
        }
    }
}
