//! Jobs for the store.

use std::sync::Arc;

use alloy_primitives::Bytes;
use foreseal_chain::{BlockChanges, ExecutedBlock, Step};
use foreseal_primitives::StateDiff;
use foreseal_store::{SealedBlock, StoredStep};

use crate::write_queue::Job;

/// A job for the store.
#[derive(Debug)]
pub(crate) enum StoreJob {
    /// Appends a block after the newest one.
    Write(Box<Write>),
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
            Self::Write(write) => Some(write.block.block.transactions.len()),
            Self::Unwind { .. } => None,
        }
    }
}

impl Write {
    /// Converts to the store's form: merges the diffs, and compares the two states to find the trie nodes
    /// that differ.
    pub fn prepare(&self) -> Result<SealedBlock, foreseal_state::StateError> {
        let ExecutedBlock { block, state, steps, written } = &*self.block;
        let step = |(index, step): (usize, &Arc<Step>)| {
            let written = written.iter().find(|written| written.step == index);
            stored_step(step, written.map(|written| written.diff.clone()))
        };
        Ok(SealedBlock {
            block: block.clone(),
            steps: steps.iter().enumerate().map(step).collect(),
            diff: joined(&self.changed.diffs),
            nodes: state.changes_since(&self.changed.before)?,
            journal_sequence: self.sequence,
            writer_metadata: self.meta.clone(),
        })
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
