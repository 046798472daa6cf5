//! Read-only inspection of a journal.

use std::{fmt, path::Path, sync::Arc};

use alloy_primitives::B256;
use serde::Serialize;

use crate::{
    disk::Disk,
    end_file::read_end,
    error::{JournalError, JournalPosition},
    journal_head::{JournalHead, imported},
    layout::{ChainLink, FIRST_SEGMENT, Identity, SECTOR},
    record::{Record, decode_records},
    recovery::{RecordedEndCheck, TornTail, end_position},
    segment_scanner::{SegmentScanner, TailState},
};

/// Content of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JournalReport {
    /// The chain that the journal belongs to; `None` when it has no complete segment.
    pub identity: Option<Identity>,
    /// Number of segments that were read.
    pub segments: u64,
    /// Sequence number of the oldest retained append.
    pub first_sequence: u64,
    /// Number of complete appends in order. `records` counts the records in them, `bytes` their bytes on
    /// disk.
    pub appends: u64,
    pub records: u64,
    pub bytes: u64,
    /// The newest block that was sealed, imported or unwound to.
    pub head: Option<JournalHead>,
    /// The newest step of the block in progress.
    pub step: Option<StepHead>,
    /// Unfinished append that a crash left at the end. The next opening cuts it; no acknowledged append is
    /// lost.
    pub torn_tail: Option<TornTail>,
    /// A segment whose creation did not finish; the next opening removes it.
    pub unfinished_segment: Option<u64>,
    /// Damage to data that was synced, at which reading stopped. The node refuses to start.
    pub fault: Option<SegmentFault>,
    /// How the recorded end proves that the journal once held more, if it does. The node refuses to start.
    pub missing: Option<String>,
}

/// Block number, index and hash of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StepHead {
    /// Number of the block in progress.
    pub number: u64,
    pub index: u64,
    pub hash: B256,
}

/// Damage that only a repair can remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentFault {
    pub position: JournalPosition,
    pub reason: String,
}

/// Reads and decodes the whole journal in `dir`, with one append in memory at a time.
///
/// The caller holds the [`DirLock`](crate::DirLock) of the data directory: an append that is being written
/// looks like a torn one.
///
/// # Errors
/// Returns an error only if the journal cannot be read. Damage is part of the report.
pub fn check(dir: &Path, disk: Arc<dyn Disk>) -> Result<JournalReport, JournalError> {
    examine(dir, disk).map(|examined| examined.report)
}

/// A journal that was read to its end, or to the first damage.
pub(crate) struct JournalExamination {
    pub report: JournalReport,
    /// Sequence number and previous hash that the append after the last good one must have; `None` without a
    /// complete segment.
    pub chain: Option<ChainLink>,
    /// Position at which that append would begin.
    pub end: JournalPosition,
    /// Result of the comparison with the recorded end; `Ok` if no end is recorded.
    pub compared: Result<(), JournalError>,
}

pub(crate) fn examine(dir: &Path, disk: Arc<dyn Disk>) -> Result<JournalExamination, JournalError> {
    let recorded = match read_end(&*disk, dir) {
        Ok(content) => content.map(|content| content.mark),
        Err(JournalError::EndDamaged { .. }) => None,
        Err(other) => return Err(other),
    };
    let mut end_check = RecordedEndCheck::new(recorded);
    let mut scanner = SegmentScanner::new(disk, dir, None)?;
    let mut report = JournalReport::default();
    let mut unreadable = None;
    let fault = loop {
        let append = match scanner.next() {
            Ok(Some(append)) => append,
            Ok(None) => break None,
            Err(JournalError::Corrupt { position, reason }) => break Some(SegmentFault { position, reason }),
            Err(other) => return Err(other),
        };
        end_check.observe(&append);
        match decode_records(append.records, append.header.records) {
            Ok(records) => {
                report.appends += 1;
                report.records += u64::from(append.header.records);
                report.bytes += append.header.padded();
                for record in &records {
                    report.follow(record);
                }
            }
            Err((index, reason)) => {
                unreadable = Some(append.header.chain);
                let reason = format!("record {index} of a whole append cannot be read: {reason}");
                break Some(SegmentFault { position: append.position, reason });
            }
        }
    };
    report.fault = fault;
    report.identity = scanner.identity();
    report.segments = scanner.visited_segments().len() as u64;
    report.first_sequence = scanner.visited_segments().first().map_or(0, |&(_, first)| first);
    let mut position = JournalPosition { segment: FIRST_SEGMENT, offset: SECTOR };
    if let Some(end) = scanner.end() {
        position = end_position(&end);
        match (end.tail, end.segment) {
            (TailState::Torn { bytes }, Some(_)) => report.torn_tail = Some(TornTail { position, bytes }),
            (TailState::UnfinishedSegment { segment }, _) => report.unfinished_segment = Some(segment),
            (TailState::Torn { .. }, None) | (TailState::Clean, _) => {}
        }
    }
    let chain = unreadable.or(scanner.chain());
    let genesis = ChainLink { sequence: 0, previous: B256::ZERO };
    let compared = if report.fault.is_some() {
        Ok(())
    } else {
        end_check.check(chain.unwrap_or(genesis), position, dir)
    };
    report.missing = compared.as_ref().err().map(ToString::to_string);
    Ok(JournalExamination { report, chain, end: position, compared })
}

/// Returns the number of the block that a record extends or seals.
pub(crate) fn block_number(record: &Record) -> Option<u64> {
    match record {
        Record::Open { header } => Some(header.number),
        Record::Step(step) | Record::Override { step, .. } => Some(step.number),
        Record::Seal { number, .. } => Some(*number),
        Record::Import { block } => imported(block).map(|block| block.number),
        Record::Clock { .. } | Record::Unwind { .. } | Record::Finality { .. } => None,
    }
}

impl JournalReport {
    /// Returns `true` if the node would start.
    pub fn is_sound(&self) -> bool {
        self.fault.is_none() && self.missing.is_none()
    }

    fn follow(&mut self, record: &Record) {
        match record {
            Record::Step(step) | Record::Override { step, .. } => {
                self.step = Some(StepHead { number: step.number, index: step.index, hash: step.hash });
            }
            Record::Open { .. } => self.step = None,
            Record::Seal { number, hash } | Record::Unwind { number, hash } => {
                (self.head, self.step) = (Some(JournalHead { number: *number, hash: *hash }), None);
            }
            Record::Import { block } => (self.head, self.step) = (imported(block).or(self.head), None),
            Record::Clock { .. } | Record::Finality { .. } => {}
        }
    }
}

impl fmt::Display for JournalReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(identity) = &self.identity {
            writeln!(f, "{identity}")?;
        }
        let Self { segments, appends, records, bytes, first_sequence, .. } = self;
        write!(f, "{segments} segments, {appends} appends from {first_sequence} on, ")?;
        write!(f, "{records} records, {bytes} bytes")?;
        if let Some(JournalHead { number, hash }) = &self.head {
            write!(f, "\nhead: block {number} {hash}")?;
        }
        if let Some(StepHead { number, index, hash }) = &self.step {
            write!(f, "\nin progress: block {number}, step {index} {hash}")?;
        }
        if let Some(TornTail { position, bytes }) = &self.torn_tail {
            write!(f, "\ntorn tail at {position}: {bytes} bytes, cut at the next start")?;
        }
        if let Some(segment) = self.unfinished_segment {
            write!(f, "\nsegment {segment} was being created, removed at the next start")?;
        }
        match &self.fault {
            Some(SegmentFault { position, reason }) => write!(f, "\ncorrupt at {position}: {reason}"),
            None => match &self.missing {
                Some(missing) => write!(f, "\n{missing}"),
                None => write!(f, "\nsound"),
            },
        }
    }
}
