//! The journal as its reader wants to see it, one append after the other.

use std::{ops::ControlFlow, path::Path, sync::Arc};

use alloy_primitives::{B256, Bytes};
use foreseal_types::{BlockBytes, Flashblock};
use serde::Serialize;

use crate::{Append, JournalError, Record, Replay, disk::Disk, walk::Walk};

/// Times in a row that the reading begins anew without having come further.
const ATTEMPTS: u32 = 5;

/// An append in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownAppend {
    pub sequence: u64,
    pub records: Vec<ShownRecord>,
}

/// A record in short: transactions by their hashes, times in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ShownRecord {
    Open { number: u64, parent: B256 },
    Step(ShownStep),
    Seal { number: u64, hash: B256 },
    Import { number: u64, hash: B256, transactions: Vec<B256> },
    Override(ShownStep),
    Clock { offset: i64 },
    Unwind { number: u64, hash: B256 },
    Finality { safe: u64, finalized: u64, trails: bool },
}

/// A step in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownStep {
    pub number: u64,
    pub index: u64,
    pub hash: B256,
    pub previous: B256,
    pub transactions: Vec<B256>,
    /// 0 if it is not known.
    pub time: u64,
    pub signature: Option<Bytes>,
}

impl From<&Flashblock> for ShownStep {
    fn from(step: &Flashblock) -> Self {
        Self {
            number: step.number,
            index: step.index,
            hash: step.hash,
            previous: step.previous,
            transactions: step.transactions.iter().map(|transaction| transaction.hash()).collect(),
            time: step.time,
            signature: step.signature.map(|signature| Bytes::copy_from_slice(signature.as_slice())),
        }
    }
}

impl ShownRecord {
    /// `None` for the bytes of an import that are no block: those are for replay to refuse.
    fn of(record: &Record) -> Option<Self> {
        Some(match record {
            Record::Open { header } => Self::Open { number: header.number, parent: header.parent_hash },
            Record::Step(step) => Self::Step(step.as_ref().into()),
            Record::Seal { number, hash } => Self::Seal { number: *number, hash: *hash },
            Record::Import { block } => {
                let block: BlockBytes = alloy_rlp::decode_exact(block).ok()?;
                Self::Import {
                    number: block.header.number,
                    hash: block.header.hash_slow(),
                    transactions: block.transactions.iter().map(|envelope| *envelope.tx_hash()).collect(),
                }
            }
            Record::Override { step, .. } => Self::Override(step.as_ref().into()),
            Record::Clock { offset } => Self::Clock { offset: *offset },
            Record::Unwind { number, hash } => Self::Unwind { number: *number, hash: *hash },
            Record::Finality { safe, finalized, trails } => {
                Self::Finality { safe: *safe, finalized: *finalized, trails: *trails }
            }
        })
    }
}

impl From<&Append> for ShownAppend {
    fn from(append: &Append) -> Self {
        let records = append.records.iter().filter_map(ShownRecord::of).collect();
        Self { sequence: append.sequence, records }
    }
}

/// Gives `sink` the appends of the journal in `dir` from number `from` on, in order, up to the last one that is whole.
/// Changes nothing, and takes no lock: a node may write meanwhile. What it removes before it was read is left out.
///
/// # Errors
/// When the journal is damaged or cannot be read, after what comes before the damage.
pub fn show(
    dir: &Path,
    disk: &Arc<dyn Disk>,
    from: u64,
    sink: &mut dyn FnMut(ShownAppend) -> ControlFlow<()>,
) -> Result<(), JournalError> {
    let (mut next, mut attempts) = (from, 0);
    loop {
        let began = next;
        let error = match show_once(dir, disk, &mut next, sink) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        // An append that is written while it is read looks damaged, and a segment may go: by now it is whole, or gone.
        attempts = if next > began { 0 } else { attempts + 1 };
        if attempts == ATTEMPTS {
            return Err(error);
        }
    }
}

fn show_once(
    dir: &Path,
    disk: &Arc<dyn Disk>,
    next: &mut u64,
    sink: &mut dyn FnMut(ShownAppend) -> ControlFlow<()>,
) -> Result<(), JournalError> {
    let walk = Walk::new(disk.clone(), dir, None)?;
    for append in Replay::new(walk, *next..u64::MAX) {
        let append = append?;
        *next = append.sequence + 1;
        if sink(ShownAppend::from(&append)).is_break() {
            break;
        }
    }
    Ok(())
}
