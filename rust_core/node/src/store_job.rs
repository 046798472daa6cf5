//! Jobs for the store, and the metadata that it holds for the node.

use std::sync::Arc;

use alloy_primitives::Bytes;
use alloy_rlp::{RlpDecodable, RlpEncodable};
use foreseal_primitives::StateDiff;
use foreseal_store::{SealedBlock, StoredStep};

use crate::write_queue::Job;
use foreseal_chain::{BlockChanges, ChainMeta, ExecutedBlock, Finality, Step};

/// Journal position at which a block was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub(crate) struct Mark {
    pub number: u64,
    pub sequence: u64,
}

/// Metadata that the store holds for the node, written with its newest block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoreMeta {
    pub beside: ChainMeta,
    /// Journal positions of blocks, oldest first.
    pub marks: Vec<Mark>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct StoreMetaWire {
    safe: u64,
    finalized: u64,
    trails: bool,
    /// Offset in two's complement.
    clock_offset: u64,
    marks: Vec<Mark>,
}

impl StoreMeta {
    pub fn encode(&self) -> Bytes {
        let Self { beside: ChainMeta { finality, clock_offset }, marks } = self;
        let wire = StoreMetaWire {
            safe: finality.safe,
            finalized: finality.finalized,
            trails: finality.trails,
            clock_offset: clock_offset.cast_unsigned(),
            marks: marks.clone(),
        };
        alloy_rlp::encode(wire).into()
    }

    pub fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let wire: StoreMetaWire = alloy_rlp::decode_exact(bytes)?;
        let StoreMetaWire { safe, finalized, trails, clock_offset, marks } = wire;
        let finality = Finality { safe, finalized, trails };
        Ok(Self { beside: ChainMeta { finality, clock_offset: clock_offset.cast_signed() }, marks })
    }
}

/// A job for the store.
#[derive(Debug)]
pub(crate) enum StoreJob {
    /// Appends a block after the newest one.
    Write(Box<Write>),
    /// Unwinds the store to block `to`.
    Unwind { to: u64, sequence: u64, note: Bytes },
}

#[derive(Debug)]
pub(crate) struct Write {
    pub block: Arc<ExecutedBlock>,
    pub changed: BlockChanges,
    /// Sequence number of the journal append that seals the block.
    pub sequence: u64,
    pub note: Bytes,
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
            note: self.note.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let finality = Finality { safe: 5, finalized: 3, trails: false };
        let marks = vec![Mark { number: 1, sequence: 9 }, Mark { number: 17, sequence: 90 }];
        for clock_offset in [0, 7_000, -3] {
            let note = StoreMeta { beside: ChainMeta { finality, clock_offset }, marks: marks.clone() };
            assert_eq!(StoreMeta::decode(&note.encode()).unwrap(), note);
        }
        assert!(StoreMeta::decode(b"").is_err());
    }
}
