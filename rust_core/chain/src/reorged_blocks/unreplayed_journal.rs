//! Blocks that were reorged before the node started, read from the journal.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, OnceLock},
};

use alloy_eips::eip4895::Withdrawals;
use foreseal_journal::{JournalError, JournalReader, Record, RecordSummary};
use foreseal_primitives::{Block, Flashblock, length_in_block};
use imbl::Vector;

use super::{
    block::ReorgedBlock,
    list::{BlockList, MAX_BLOCKS, MAX_BYTES},
};
use crate::executed_block::Step;

/// The part of a journal that a start does not replay. It is read on first use. If it contains an unwind, it
/// is read twice: once to find the reorged blocks, and once to load them.
///
/// Imported blocks are not found: the journal does not contain their receipts.
#[derive(Debug)]
pub struct UnreplayedJournal {
    journal: JournalReader,
    /// The append at which replay began, and the number of its records before that point.
    end: (u64, usize),
    /// Maximum size of the blocks in memory, in bytes.
    max_bytes: usize,
    blocks: OnceLock<BlockList>,
}

impl UnreplayedJournal {
    pub fn new(journal: JournalReader, end: (u64, usize)) -> Self {
        Self { journal, end, max_bytes: MAX_BYTES, blocks: OnceLock::new() }
    }

    /// Returns the same source, which retains at most `max_bytes` of blocks in memory.
    pub(super) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Returns the size of the blocks in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.get().map_or(0, |blocks| blocks.bytes)
    }

    /// Returns the reorged blocks, as far back as the journal reaches.
    pub(super) fn blocks(&self) -> &BlockList {
        // The node may remove a segment during the first attempt.
        self.blocks.get_or_init(|| {
            self.read().or_else(|_| self.read()).unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot search the journal for reorged blocks");
                BlockList::default()
            })
        })
    }

    fn read(&self) -> Result<BlockList, JournalError> {
        let (last, records) = self.end;
        let mut traces = Traces { max_bytes: self.max_bytes, ..Traces::default() };
        self.journal.summaries(last, &mut |sequence, outlines| {
            let limit = if sequence < last { usize::MAX } else { records };
            for (at, outline) in outlines.into_iter().enumerate().take(limit) {
                traces.follow((sequence, at), outline);
            }
        })?;
        let mut built: Vec<Built> = traces.reorged.iter().map(|_| Built::default()).collect();
        let of_block = |(block, trace): (usize, &'_ Trace)| {
            trace.steps.iter().map(move |at| (*at, block)).collect::<Vec<_>>()
        };
        let steps: HashMap<At, usize> = traces.reorged.iter().enumerate().flat_map(of_block).collect();
        self.journal.read(&steps.keys().map(|(sequence, _)| *sequence).collect(), &mut |append| {
            for (at, record) in append.records.iter().enumerate() {
                if let (Record::Step(step) | Record::Override { step, .. }, Some(block)) =
                    (record, steps.get(&(append.sequence, at)))
                {
                    built[*block].add(step);
                }
            }
        })?;
        let mut blocks = BlockList::new(self.max_bytes);
        for block in built.into_iter().filter_map(Built::block) {
            blocks.push(block);
        }
        Ok(blocks)
    }
}

/// Sequence number of an append, and the index of a record in it.
type At = (u64, usize);

/// Journal positions of the steps of a block.
#[derive(Debug)]
struct Trace {
    number: u64,
    sealed: bool,
    steps: Vec<At>,
    /// Size of the steps in the journal.
    bytes: usize,
}

/// The chain as it grows and unwinds, limited to blocks whose first step is in the journal.
#[derive(Debug, Default)]
struct Traces {
    chain: Vec<Trace>,
    /// Reorged blocks, newest last.
    reorged: VecDeque<Trace>,
    /// Total size of the reorged blocks.
    bytes: usize,
    /// Maximum of `bytes`.
    max_bytes: usize,
}

impl Traces {
    fn follow(&mut self, at: At, outline: RecordSummary) {
        match outline {
            RecordSummary::Step { number, index: 0, bytes } => {
                self.chain.push(Trace { number, sealed: false, steps: vec![at], bytes });
            }
            RecordSummary::Step { number, bytes, .. } => {
                if let Some(last) = self.chain.last_mut().filter(|last| last.number == number) {
                    last.steps.push(at);
                    last.bytes += bytes;
                }
            }
            RecordSummary::Seal => {
                if let Some(last) = self.chain.last_mut() {
                    last.sealed = true;
                }
            }
            // An import replaces a block being built that has no transactions.
            RecordSummary::Import => self.retain_last(|last| last.sealed),
            RecordSummary::Unwind { number } => self.retain_last(|last| last.number <= number),
            RecordSummary::Other => {}
        }
    }

    /// Moves the newest blocks to `reorged`, down to the first one for which `stays` returns `true`.
    fn retain_last(&mut self, stays: impl Fn(&Trace) -> bool) {
        let kept = self.chain.iter().rposition(stays).map_or(0, |last| last + 1);
        for trace in self.chain.drain(kept..) {
            self.bytes += trace.bytes;
            self.reorged.push_back(trace);
        }
        while self.reorged.len() > MAX_BLOCKS || self.bytes > self.max_bytes && self.reorged.len() > 1 {
            let Some(oldest) = self.reorged.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }
}

/// A block, assembled from its steps.
#[derive(Debug, Default)]
struct Built {
    block: Option<Block>,
    steps: Vector<Arc<Step>>,
}

impl Built {
    fn add(&mut self, step: &Flashblock) {
        let block = self.block.get_or_insert_with(|| Block {
            header: step.header.clone(),
            hash: step.hash,
            transactions: Vector::new(),
            receipts: Vector::new(),
            uncles: Vec::new(),
            withdrawals: step.header.withdrawals_root.map(|_| Withdrawals::default()),
            transactions_length: 0,
        });
        block.header = step.header.clone();
        block.hash = step.hash;
        block.transactions.extend(step.transactions.iter().cloned());
        block.receipts.extend(step.receipts.iter().cloned());
        block.transactions_length += step.transactions.iter().map(|one| length_in_block(one)).sum::<usize>();
        self.steps.push_back(Arc::new(Step {
            header: step.header.clone(),
            hash: step.hash,
            transactions: block.transactions.len(),
            time: step.time,
            signature: step.signature,
            transactions_length: block.transactions_length,
            state: None,
        }));
    }

    fn block(self) -> Option<ReorgedBlock> {
        self.block.map(|block| ReorgedBlock { block, steps: self.steps })
    }
}
