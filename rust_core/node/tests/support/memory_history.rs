//! A history in memory, controlled by the test.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use alloy_primitives::B256;
use foreseal_chain::{ExecutedBlock, HeaderAndState, History, Position, Step, search_block};
use foreseal_primitives::{LogFilter, LogPosition, LogSink};
use foreseal_state::{StateError, StateStore};
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
        let kept = ExecutedBlock { steps: steps.collect(), ..ExecutedBlock::clone(block) };
        self.blocks.write().insert(block.number(), Arc::new(kept));
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

    fn header_and_state(&self, number: u64) -> Result<Option<HeaderAndState>, StateError> {
        let moment = |found: &Arc<ExecutedBlock>| {
            HeaderAndState::stored(found.block.header.clone(), found.block.hash, found.state.clone())
        };
        self.read(|blocks| blocks.get(&number).map(moment))
    }

    fn hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        self.read(|blocks| blocks.get(&number).map(|found| found.block.hash))
    }

    fn step(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        self.read(|blocks| {
            blocks.iter().find_map(|(&number, found)| {
                if found.block.hash == *hash {
                    return Some(Position { number, index: 0 });
                }
                let index = found.steps.iter().position(|step| step.hash == *hash)?;
                Some(Position { number, index })
            })
        })
    }

    fn search_logs(
        &self,
        filter: &LogFilter,
        from: LogPosition,
        last: u64,
        sink: &mut dyn LogSink,
    ) -> Result<LogPosition, StateError> {
        let blocks: Vec<_> =
            self.read(|blocks| blocks.range(from.block..=last).map(|(_, b)| b.clone()).collect())?;
        for found in blocks {
            let first = if found.number() == from.block { from.index } else { 0 };
            if let ControlFlow::Break(at) = search_block(&found.block, filter, first, sink) {
                return Ok(at);
            }
        }
        Ok(LogPosition::block(last + 1))
    }

    fn transaction(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        self.read(|blocks| {
            blocks.iter().find_map(|(&number, found)| {
                let index = found.block.transactions.iter().position(|one| one.hash() == *hash)?;
                Some(Position { number, index })
            })
        })
    }
}
