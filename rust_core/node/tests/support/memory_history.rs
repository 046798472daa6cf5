//! A history in memory, controlled by the test.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use alloy_primitives::{B256, Log};
use foreseal_chain::{BlockCounts, ExecutedBlock, HeaderAndState, History, Position, Step, matching_logs};
use foreseal_primitives::{FoundLog, LogFilter, LogPosition};
use foreseal_state::{StateError, StateStore};
use foreseal_store::{BlockWithoutLogs, StoredLogRange};
use imbl::Vector;
use parking_lot::RwLock;

#[derive(Debug, Default)]
pub struct MemoryHistory {
    blocks: RwLock<BTreeMap<u64, Arc<ExecutedBlock>>>,
    /// One more than the newest confirmed block.
    confirmed: AtomicU64,
    gone: AtomicBool,
}

impl MemoryHistory {
    /// Adds a block without the states of its steps, as the store does.
    pub fn confirm(&self, block: &Arc<ExecutedBlock>) {
        let steps = block.steps.iter().map(|step| Arc::new(Step { state: None, ..Step::clone(step) }));
        let retained = ExecutedBlock { steps: steps.collect(), ..ExecutedBlock::clone(block) };
        self.blocks.write().insert(block.number(), Arc::new(retained));
        self.confirmed.store(block.number() + 1, Ordering::SeqCst);
    }

    /// Makes all reads fail, as after an unwind.
    pub fn end(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    fn read<T>(&self, read: impl FnOnce(&BTreeMap<u64, Arc<ExecutedBlock>>) -> T) -> Result<T, StateError> {
        if self.gone.load(Ordering::SeqCst) {
            Err(StateError::ViewGone)
        } else {
            Ok(read(&self.blocks.read()))
        }
    }
}

impl History for MemoryHistory {
    fn confirmed(&self) -> Option<u64> {
        self.confirmed.load(Ordering::SeqCst).checked_sub(1)
    }

    fn states(&self) -> Option<Arc<dyn StateStore>> {
        None
    }

    fn block(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        self.read(|blocks| blocks.get(&number).cloned())
    }

    fn block_without_logs(&self, number: u64) -> Result<Option<BlockWithoutLogs>, StateError> {
        self.read(|blocks| {
            let mut block = blocks.get(&number)?.block.clone();
            let first_log =
                located(blocks).partition_point(|(at, _)| *at < LogPosition::block(number)) as u64;
            let log_counts = block.receipts.iter().map(|receipt| receipt.logs.len() as u64).collect();
            for receipt in &mut block.receipts {
                Arc::make_mut(receipt).logs.clear();
            }
            Some(BlockWithoutLogs { block, log_counts, first_log })
        })
    }

    fn steps(&self, number: u64) -> Result<Option<Vector<Arc<Step>>>, StateError> {
        self.read(|blocks| blocks.get(&number).map(|block| block.steps.clone()))
    }

    fn header_and_state(&self, number: u64) -> Result<Option<HeaderAndState>, StateError> {
        let with_state = |block: &Arc<ExecutedBlock>| {
            HeaderAndState::stored(block.block.header.clone(), block.block.hash, block.state.clone())
        };
        self.read(|blocks| blocks.get(&number).map(with_state))
    }

    fn counts(&self, number: u64) -> Result<Option<BlockCounts>, StateError> {
        self.read(|blocks| blocks.get(&number).map(|block| BlockCounts::new(block)))
    }

    fn hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        self.read(|blocks| blocks.get(&number).map(|block| block.block.hash))
    }

    fn step(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        self.read(|blocks| {
            blocks.iter().find_map(|(&number, block)| {
                if block.block.hash == *hash {
                    return Some(Position { number, index: 0 });
                }
                let index = block.steps.iter().position(|step| step.hash == *hash)?;
                Some(Position { number, index })
            })
        })
    }

    fn generation(&self) -> u64 {
        0
    }

    fn match_logs(
        &self,
        filter: &LogFilter,
        range: &mut StoredLogRange,
        max: usize,
    ) -> Result<Vec<u64>, StateError> {
        self.read(|blocks| {
            let logs = located(blocks);
            let ordinal = |at: LogPosition| logs.partition_point(|(position, _)| *position < at) as u64;
            let all = || ordinal(range.from)..ordinal(LogPosition::block(range.last + 1));
            let ordinals = range.ordinals.clone().unwrap_or_else(all);
            // Two at a time, so that a search has several portions.
            let examined = ordinals.end.min(ordinals.start + max.min(2) as u64);
            let matching = (ordinals.start..examined)
                .filter(|ordinal| logs.get(index(*ordinal)).is_some_and(|(_, log)| filter.matches(log)))
                .collect();
            range.ordinals = Some(examined..ordinals.end);
            matching
        })
    }

    fn read_logs(
        &self,
        filter: &LogFilter,
        ordinals: &[u64],
        visit: &mut dyn FnMut(u64, &FoundLog<'_>) -> ControlFlow<()>,
    ) -> Result<(), StateError> {
        self.read(|blocks| {
            let logs = located(blocks);
            for &ordinal in ordinals {
                let (position, _) = logs[index(ordinal)];
                let entry = matching_logs(&blocks[&position.block].block, filter, position.index).next();
                if visit(ordinal, &entry.expect("a match")).is_break() {
                    break;
                }
            }
        })
    }

    fn log_position(&self, ordinal: u64) -> Result<LogPosition, StateError> {
        self.read(|blocks| located(blocks)[index(ordinal)].0)
    }

    fn transaction(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        self.read(|blocks| {
            blocks.iter().find_map(|(&number, block)| {
                let index = block.block.transactions.iter().position(|one| one.hash() == *hash)?;
                Some(Position { number, index })
            })
        })
    }
}

/// Returns all logs of the blocks with their positions, by ordinal.
fn located(blocks: &BTreeMap<u64, Arc<ExecutedBlock>>) -> Vec<(LogPosition, &Log)> {
    let mut logs = Vec::new();
    for (number, block) in blocks {
        let all = block.block.receipts.iter().flat_map(|receipt| &receipt.logs);
        logs.extend((0..).zip(all).map(|(index, log)| (LogPosition { block: *number, index }, log)));
    }
    logs
}

fn index(ordinal: u64) -> usize {
    usize::try_from(ordinal).expect("few logs")
}
