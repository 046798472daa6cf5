//! Replay of journal records onto the chain.

use foreseal_journal::Record;

use crate::{
    chain::{Chain, ChainError},
    finality::Finality,
};

/// Error of replaying a journal.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("record {record} of the journal contradicts the chain: {source}")]
    Chain { record: u64, source: ChainError },
}

/// Applies one record to the chain. `record` is its number, for error messages. Blocks that the store has
/// written stay in memory until the caller calls [`Chain::remove_expired`].
pub fn replay(chain: &mut Chain, record: u64, entry: &Record) -> Result<(), ReplayError> {
    let refused = |source| ReplayError::Chain { record, source };
    match entry {
        Record::Open { header } => chain.replay_open(header).map_err(refused),
        Record::Step(step) => chain.replay_step(step, None).map_err(refused),
        Record::Override { change, step } => chain.replay_step(step, Some(change)).map_err(refused),
        Record::Seal { number, hash } => chain.replay_seal(*number, *hash).map_err(refused),
        Record::Import { block } => chain.import(block).map_err(refused),
        Record::Clock { offset } => {
            chain.set_clock_offset(*offset);
            Ok(())
        }
        Record::Unwind { number, hash } => chain.replay_unwind(*number, *hash).map_err(refused),
        Record::Finality { safe, finalized, trails } => {
            chain.set_finality(Finality { safe: *safe, finalized: *finalized, trails: *trails });
            Ok(())
        }
    }
}
