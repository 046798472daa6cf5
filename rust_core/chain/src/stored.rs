//! The store as a history of blocks.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_primitives::{LogFilter, LogPosition};
use foreseal_state::{State, StateError, StateStore};
use foreseal_store::{BlockWithoutLogs, Reader, StoredLogRange, StoredStep, VisitLog};
use imbl::Vector;

use crate::{
    block_counts::BlockCounts,
    executed_block::{ExecutedBlock, Step, Written},
    hash_index::Position,
    header_and_state::HeaderAndState,
    history::History,
    memory_size::{block_size, step_size},
    newest_stored_block::NewestStoredBlock,
    states::States,
};

/// History that reads one generation of the store.
#[derive(Debug)]
pub struct StoredHistory {
    reader: Reader,
    states: Arc<States>,
    confirmed: Arc<NewestStoredBlock>,
}

impl StoredHistory {
    pub fn new(reader: Reader, confirmed: Arc<NewestStoredBlock>) -> Self {
        let states = Arc::new(States::new(reader.clone()));
        Self { reader, states, confirmed }
    }

    fn state(&self, number: u64, root: B256) -> State {
        State::from_store(self.states.clone(), number, root)
    }
}

impl History for StoredHistory {
    fn confirmed(&self) -> Option<u64> {
        self.confirmed.get()
    }

    fn states(&self) -> Option<Arc<dyn StateStore>> {
        Some(self.states.clone())
    }

    fn block(&self, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
        let Some(block) = self.reader.block(number)? else { return Ok(None) };
        let stored = self.reader.steps(number)?.unwrap_or_default();
        let written = stored.iter().enumerate().filter_map(|(index, step)| written(index, step)).collect();
        let state = self.state(number, block.header.state_root);
        let steps = table(stored);
        let memory_size = block_size(&block) + step_size() * steps.len();
        Ok(Some(Arc::new(ExecutedBlock { block, state, steps, written, memory_size })))
    }

    fn block_without_logs(&self, number: u64) -> Result<Option<BlockWithoutLogs>, StateError> {
        Ok(self.reader.block_without_logs(number)?)
    }

    fn steps(&self, number: u64) -> Result<Option<Vector<Arc<Step>>>, StateError> {
        Ok(self.reader.steps(number)?.map(table))
    }

    fn header_and_state(&self, number: u64) -> Result<Option<HeaderAndState>, StateError> {
        let moment = self.reader.record(number)?.map(|(hash, record)| {
            let state = self.state(number, record.header.state_root);
            HeaderAndState::stored(record.header, hash, state)
        });
        Ok(moment)
    }

    fn counts(&self, number: u64) -> Result<Option<BlockCounts>, StateError> {
        let stored = self.reader.record(number)?;
        Ok(stored.map(|(hash, record)| BlockCounts {
            number,
            hash,
            transactions: usize::try_from(record.transactions).unwrap_or(usize::MAX),
            transactions_length: usize::try_from(record.transactions_length).unwrap_or(usize::MAX),
            logs: record.logs,
        }))
    }

    fn hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(self.reader.block_hash(number)?)
    }

    fn step(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        if let Some(number) = self.reader.number_of(hash)? {
            return Ok(Some(Position { number, index: 0 }));
        }
        Ok(self.reader.step_position(hash)?.map(position))
    }

    fn generation(&self) -> u64 {
        self.reader.generation()
    }

    fn match_logs(
        &self,
        filter: &LogFilter,
        range: &mut StoredLogRange,
        max: usize,
    ) -> Result<Vec<u64>, StateError> {
        Ok(self.reader.match_logs(filter, range, max)?)
    }

    fn read_logs(&self, filter: &LogFilter, ordinals: &[u64], visit: VisitLog<'_>) -> Result<(), StateError> {
        Ok(self.reader.read_logs(filter, ordinals, visit)?)
    }

    fn log_position(&self, ordinal: u64) -> Result<LogPosition, StateError> {
        Ok(self.reader.log_position(ordinal)?)
    }

    fn transaction(&self, hash: &B256) -> Result<Option<Position>, StateError> {
        Ok(self.reader.transaction_position(hash)?.map(position))
    }
}

fn position((number, index): (u64, u32)) -> Position {
    Position { number, index: usize::try_from(index).expect("a usize has 32 bits at least") }
}

fn table(stored: Vec<StoredStep>) -> Vector<Arc<Step>> {
    stored.into_iter().map(|one| Arc::new(step(one))).collect()
}

fn step(stored: StoredStep) -> Step {
    Step {
        header: stored.header,
        hash: stored.hash,
        transactions: usize::try_from(stored.transactions).expect("a usize has 32 bits at least"),
        time: stored.time,
        signature: stored.signature,
        transactions_length: usize::try_from(stored.transactions_length).unwrap_or(usize::MAX),
        state: None,
    }
}

fn written(index: usize, step: &StoredStep) -> Option<Written> {
    let transactions = usize::try_from(step.transactions).ok()?;
    step.written.clone().map(|diff| Written { step: index, transactions, diff })
}
