//! Summaries of the journal for display, one append after the other.

use std::{ops::ControlFlow, path::Path, sync::Arc};

use alloy_primitives::{B256, Bytes};
use foreseal_primitives::{BlockBytes, Flashblock};
use serde::Serialize;

use crate::{
    disk::Disk,
    error::JournalError,
    record::Record,
    replay::{Append, AppendReplay},
    segment_scanner::SegmentScanner,
};

/// Maximum number of consecutive read attempts without progress.
const ATTEMPTS: u32 = 5;

/// Summary of an append.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownAppend {
    pub sequence: u64,
    pub records: Vec<ShownRecord>,
}

/// Summary of a record: transactions by hash, times in milliseconds since 1970.
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

/// Summary of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownStep {
    pub number: u64,
    pub index: u64,
    pub hash: B256,
    pub previous: B256,
    pub transactions: Vec<B256>,
    /// Time of the step in milliseconds since 1970; 0 if the record has none.
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
    /// Returns the summary; `None` if the bytes of an import are not a block. Replay rejects those.
    fn from_record(record: &Record) -> Option<Self> {
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
        let records = append.records.iter().filter_map(ShownRecord::from_record).collect();
        Self { sequence: append.sequence, records }
    }
}

/// Passes the appends of the journal in `dir` from number `from` on to `sink`, in order, up to the last
/// complete one.
///
/// Changes nothing and takes no lock: a node may write meanwhile. Segments that the node removes before they
/// are read are skipped.
///
/// # Errors
/// Returns an error if the journal is damaged or cannot be read, after the appends before the damage were
/// passed on.
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
        // An append that is written during the read looks damaged, and a segment may be removed. By the next
        // attempt the append is complete, or gone.
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
    let walk = SegmentScanner::new(disk.clone(), dir, None)?;
    for append in AppendReplay::new(walk, *next..u64::MAX) {
        let append = append?;
        *next = append.sequence + 1;
        if sink(ShownAppend::from(&append)).is_break() {
            break;
        }
    }
    Ok(())
}
