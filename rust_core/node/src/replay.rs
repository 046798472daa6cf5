//! From journal records back to the chain.

use foreseal_journal::Record;

use crate::{Chain, ChainError};

/// Why a journal cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("record {record} of the journal does not fit the chain: {source}")]
    Chain { record: u64, source: ChainError },
    #[error("record {record} of the journal is of a kind that this version does not replay: {kind}")]
    Unsupported { record: u64, kind: &'static str },
}

/// Applies records in order; `record` counts them for messages.
pub fn replay(chain: &mut Chain, record: u64, entry: &Record) -> Result<(), ReplayError> {
    let refused = |source| ReplayError::Chain { record, source };
    let unsupported = |kind| Err(ReplayError::Unsupported { record, kind });
    match entry {
        Record::Open { header } => chain.replay_open(header).map_err(refused),
        Record::Step(step) => chain.replay_step(step).map_err(refused),
        Record::Seal { number, hash } => chain.replay_seal(*number, *hash).map_err(refused),
        Record::Import { block } => chain.import(block).map_err(refused),
        Record::Override { .. } => unsupported("override"),
        Record::Clock { .. } => unsupported("clock"),
        Record::Unwind { .. } => unsupported("unwind"),
    }
}
