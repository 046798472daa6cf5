//! Error of store and journal that do not form one chain.

use alloy_primitives::B256;
use foreseal_chain::InvalidStoreMeta;
use foreseal_journal::JournalPosition;

use crate::errors::chain_loss::ChainLoss;

/// Reasons why store and journal do not form one chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error(
        "the store is empty, and the journal begins after block 1: restore the store, or start with an empty data directory"
    )]
    StoreGone,
    #[error(
        "the store ends with block {head}, but the journal has lost what follows: it begins with append {first} instead of {sequence}"
    )]
    Gap { head: u64, sequence: u64, first: u64 },
    #[error("the journal is empty, but the store holds {head} blocks: bring back the journal")]
    JournalGone { head: u64 },
    #[error(
        "block {number} with hash {hash}, where the store ends, is not in append {sequence} of the journal"
    )]
    OtherJournal { number: u64, hash: B256, sequence: u64 },
    #[error(
        "store and journal have no block in common, and the store ends with block {head}: they are not from the same node"
    )]
    NothingShared { head: u64 },
    /// Another record proves that the journal had further appends.
    #[error(
        "the journal has lost at {position} what was visible: {loss}; only `foreseal journal repair` continues without it"
    )]
    Lost { position: JournalPosition, loss: Box<ChainLoss> },
    /// A follower received an append that the journal does not have.
    #[error(
        "a follower has seen append {sequence}, and the journal, which ends before append {next}, does not have it: \
         bring back the journal, or run `foreseal journal repair`, which shows what is lost"
    )]
    Contradicted { sequence: u64, next: u64 },
    #[error(transparent)]
    StoreMeta(#[from] InvalidStoreMeta),
}
