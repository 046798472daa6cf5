//! Copy of a journal into a quorum store that has lost its data.

use alloy_primitives::B256;

use crate::{
    fence::{QuorumAppend, split_parts},
    journal_tail::{AppendSource, AppendSourceError, SourceAppend},
    observation::Observation,
    quorum_connection::encode_json,
    quorum_error::QuorumStoreError,
    quorum_head::QuorumHead,
    quorum_log::QuorumLog,
    quorum_record::{QuorumRecord, RecordLink},
    quorum_store::{KeyComparison, KeyOperation},
    quorum_tail::TailError,
    quorum_writer::position_after,
    record_hash::chain_hash,
};

/// Number of rounds over the endpoints until an unanswered write fails.
const MAX_ROUNDS: usize = 20;

/// Treatment of a quorum store that has appends of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// Rejects it.
    OnlyEmpty,
    /// Continues after its head if the source has that append.
    Continue,
}

/// Result of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportReport {
    /// Number of appends that were written.
    pub written: u64,
    /// Sequence number of the first of them.
    pub first: u64,
    /// The new head.
    pub head: QuorumHead,
}

/// Reasons why a quorum store was not changed, or its head was not written.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Source(#[from] AppendSourceError),
    #[error(transparent)]
    QuorumStore(#[from] QuorumStoreError),
    #[error("cannot read the appends of the engine: {0}")]
    Tail(TailError),
    #[error(
        "the quorum already has this chain up to append {head}: start the nodes as they are; with --force the import \
         continues there if the source has that append"
    )]
    NotEmpty { head: u64 },
    #[error("the engine has append {head}, and the source ends before append {next}: nothing to import")]
    QuorumAhead { head: u64, next: u64 },
    #[error(
        "the engine ends with append {head}, and the source begins with append {first}: import into another prefix"
    )]
    Gap { head: u64, first: u64 },
    #[error(
        "append {head} of the quorum is not the one of the source: they are different histories; import into another \
         prefix"
    )]
    OtherHistory { head: u64 },
    #[error(
        "owner or head of the chain changed during the import: stop all nodes that use this engine first"
    )]
    Changed,
}

/// Position from which an import writes.
struct ImportStart {
    observed: Observation,
    first: u64,
    /// Chain hash of the append before it.
    previous: B256,
}

/// Writes the appends of a source into the quorum store, and then its head. No owner is written: the next node that is
/// not a standby becomes it.
///
/// Until the head is written, the quorum store has no new append; an interrupted import can be repeated.
///
/// # Errors
/// Returns [`ImportError`].
pub fn import_journal(
    log: &QuorumLog,
    source: &dyn AppendSource,
    mode: ImportMode,
) -> Result<ImportReport, ImportError> {
    let ImportStart { observed, first, mut previous } = find_start(log, source, mode)?;
    if observed.head.is_none() {
        delete_other_records(log, &observed, source)?;
    }
    let head = observed.head.map(|entry| entry.head);
    let epoch = head.map_or(0, |head| head.epoch);
    let mut position = head.map_or((0, 0), |head| (head.block, head.index));
    let (mut written, mut newest) = (0, None);
    for append in source.appends(first)? {
        let SourceAppend { sequence, content, records } = append?;
        let link = RecordLink { sequence, previous, hash: chain_hash(previous, content) };
        position = position_after(&records).unwrap_or(position);
        let record = QuorumRecord::encode(&link, &records).into();
        let (block, index) = position;
        let append = QuorumAppend { sequence, hash: link.hash, block, index, record };
        let parts = put_parts(log, &observed, &append)?;
        newest = Some(QuorumHead { sequence, hash: link.hash, parts, block, index, epoch });
        (previous, written) = (link.hash, written + 1);
    }
    let head = newest.ok_or(AppendSourceError::Empty)?;
    put_head(log, &observed, &head)?;
    Ok(ImportReport { written, first, head })
}

/// Deletes the records before and after those of the source. Records without a head do not exist; they are left from
/// an interrupted import.
///
/// A deletion may be executed again later, so it never includes a key that this import writes.
fn delete_other_records(
    log: &QuorumLog,
    observed: &Observation,
    source: &dyn AppendSource,
) -> Result<(), ImportError> {
    let keys = log.keys();
    let before = KeyOperation::Delete { from: keys.first_record(), to: keys.record_part(source.first(), 0) };
    let after = KeyOperation::Delete { from: keys.record_part(source.next(), 0), to: keys.records_end() };
    write(log, observed, vec![before, after])
}

fn find_start(
    log: &QuorumLog,
    source: &dyn AppendSource,
    mode: ImportMode,
) -> Result<ImportStart, ImportError> {
    let observed = retry(|| log.observe())?;
    let Some(entry) = observed.head else {
        return Ok(ImportStart { observed, first: source.first(), previous: B256::ZERO });
    };
    let (head, next) = (entry.head.sequence, source.next());
    if next <= head.saturating_add(1) {
        return Err(ImportError::QuorumAhead { head, next });
    }
    if mode == ImportMode::OnlyEmpty {
        return Err(ImportError::NotEmpty { head });
    }
    if head < source.first() {
        return Err(ImportError::Gap { head, first: source.first() });
    }
    let records = log.read_records(head, 1).map_err(ImportError::Tail)?;
    let same = source.appends(head)?.next().transpose()?;
    let agrees = match (records.first(), same) {
        (Some(record), Some(append)) => {
            append.sequence == head && chain_hash(record.link.previous, append.content) == entry.head.hash
        }
        _ => false,
    };
    if !agrees {
        return Err(ImportError::OtherHistory { head });
    }
    Ok(ImportStart { observed, first: head + 1, previous: entry.head.hash })
}

/// Writes the parts of an append, and deletes left-over parts of its record. Returns the number written.
fn put_parts(log: &QuorumLog, observed: &Observation, append: &QuorumAppend) -> Result<u32, ImportError> {
    let parts = split_parts(&append.record);
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let keys = log.keys();
    for (index, value) in (0..count).zip(parts) {
        let mut operations = vec![KeyOperation::Put { key: keys.record_part(append.sequence, index), value }];
        if index + 1 == count {
            let from = keys.record_part(append.sequence, count);
            operations.push(KeyOperation::Delete { from, to: keys.record_end(append.sequence) });
        }
        write(log, observed, operations)?;
    }
    Ok(count)
}

fn put_head(log: &QuorumLog, observed: &Observation, head: &QuorumHead) -> Result<(), ImportError> {
    let put = KeyOperation::Put { key: log.keys().head(), value: encode_json(head) };
    match write(log, observed, vec![put]) {
        // The answer of an earlier attempt may be lost.
        Err(ImportError::Changed) => {
            let now = retry(|| log.observe())?;
            let is_written = now.head.is_some_and(|entry| entry.head == *head)
                && now.owner_revision() == observed.owner_revision();
            if is_written { Ok(()) } else { Err(ImportError::Changed) }
        }
        result => result,
    }
}

/// Executes operations if owner and head are unchanged.
fn write(log: &QuorumLog, observed: &Observation, operations: Vec<KeyOperation>) -> Result<(), ImportError> {
    let keys = log.keys();
    let comparisons = vec![
        KeyComparison { key: keys.owner(), revision: observed.owner_revision() },
        KeyComparison { key: keys.head(), revision: observed.head_revision() },
    ];
    let request = log.connection.guarded(comparisons, operations);
    let outcome = retry(|| log.connection.transaction(&request))?;
    if outcome.succeeded { Ok(()) } else { Err(ImportError::Changed) }
}

/// Repeats a request without an answer. A client pauses between rounds.
fn retry<T>(mut request: impl FnMut() -> Result<T, QuorumStoreError>) -> Result<T, QuorumStoreError> {
    let mut rounds = 1;
    loop {
        match request() {
            Err(error) if error.is_transient() && rounds < MAX_ROUNDS => rounds += 1,
            result => return result,
        }
    }
}
