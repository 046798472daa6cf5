//! Reads of the newest records.

use std::cmp::Ordering;

use crate::{
    observation::decode_json,
    quorum_error::QuorumStoreError,
    quorum_head::QuorumHead,
    quorum_keys::{MAX_PARTS, PART_SIZE},
    quorum_log::QuorumLog,
    quorum_record::{QuorumRecord, QuorumRecordError},
    quorum_store::{KeyOperation, KeyRange, KeyValue},
};

/// Number of keys of the first read; an attempt must transfer them in time.
const FIRST_KEYS: u32 = 4;
/// Maximum number of keys of a read.
const MAX_KEYS: usize = 256;
/// Approximate bytes of a read.
const READ_SIZE: usize = 4 * PART_SIZE;
/// Number of successive unanswered reads after which the parts read so far are given up.
const MAX_UNANSWERED: u32 = 3;

/// Reasons why the newest records cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TailError {
    /// The tail starts later: the reader needs a backup, another store or the leader's feed.
    #[error(
        "the engine no longer has append {wanted}, only those from {first} on: catch up from a backup or the leader"
    )]
    TooOld { wanted: u64, first: u64 },
    #[error("append {sequence} of the engine is damaged: {reason}")]
    Damaged { sequence: u64, reason: String },
    #[error(transparent)]
    QuorumStore(#[from] QuorumStoreError),
}

/// Records in order, and the parts of the next one.
struct TailReader {
    next: u64,
    next_part: u32,
    parts: Vec<u8>,
    records: Vec<QuorumRecord>,
    bytes: usize,
}

/// Head and keys at one revision.
struct TailRead {
    head: Option<QuorumHead>,
    entries: Vec<KeyValue>,
}

impl QuorumLog {
    /// Reads the records from this sequence number on, up to the head or until they have `max_bytes` bytes;
    /// at least one record if it exists. Verifies that each record follows the one before it, and the head.
    ///
    /// A read that is not answered in time ends with the complete records. Without one, it is repeated for single
    /// keys, so that a slow connection transfers them in time.
    ///
    /// # Errors
    /// Returns [`TailError`] if the first record cannot be read.
    pub fn read_records(&self, from: u64, max_bytes: usize) -> Result<Vec<QuorumRecord>, TailError> {
        let mut reader =
            TailReader { next: from, next_part: 0, parts: Vec::new(), records: Vec::new(), bytes: 0 };
        let (mut limit, mut max_growth, mut unanswered) = (FIRST_KEYS, u32::MAX, 0);
        loop {
            let read = match self.read_tail(reader.next, reader.next_part, limit) {
                Ok(read) => read,
                Err(error) if error.is_transient() && !reader.records.is_empty() => {
                    tracing::debug!(%error, "a read of the newest records ends early");
                    return Ok(reader.records);
                }
                Err(error) if error.is_transient() && unanswered + 1 < MAX_UNANSWERED => {
                    (limit, max_growth, unanswered) = (1, 2, unanswered + 1);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(head) = read.head.filter(|head| reader.next <= head.sequence) else {
                return Ok(reader.records);
            };
            let (mut accepted, mut size) = (0, 0);
            for entry in &read.entries {
                if reader.next > head.sequence || reader.bytes >= max_bytes {
                    break;
                }
                let position = self.connection.keys.parse_record(&entry.key);
                if position != Some((reader.next, reader.next_part)) {
                    break;
                }
                reader.push(&entry.value, &head)?;
                (accepted, size) = (accepted + 1, size + entry.value.len());
            }
            if reader.next > head.sequence || reader.bytes >= max_bytes {
                return Ok(reader.records);
            }
            if accepted == 0 {
                // The caller continues after the complete records, and then receives the error.
                return if reader.records.is_empty() {
                    Err(self.explain_gap(reader.next, &head))
                } else {
                    Ok(reader.records)
                };
            }
            limit = next_limit(accepted, size).min(limit.saturating_mul(max_growth));
            unanswered = 0;
        }
    }

    fn read_tail(&self, sequence: u64, part: u32, limit: u32) -> Result<TailRead, QuorumStoreError> {
        let keys = &self.connection.keys;
        let range = KeyRange {
            from: keys.record_part(sequence, part),
            to: keys.records_end(),
            limit,
            keys_only: false,
        };
        let operations = vec![KeyOperation::Get { key: keys.head() }, KeyOperation::Range(range)];
        let mut results = self.connection.execute(operations)?.results.into_iter();
        let (Some(head), Some(entries)) = (results.next(), results.next()) else {
            return Err(QuorumStoreError::invalid_response("expected the results of 2 operations"));
        };
        Ok(TailRead { head: head.first().map(decode_json).transpose()?, entries })
    }

    /// Returns the reason why a part of the record `wanted` is missing.
    fn explain_gap(&self, wanted: u64, head: &QuorumHead) -> TailError {
        let keys = &self.connection.keys;
        // Records are removed from the oldest on: if the one before exists, this one was not removed.
        let from = keys.record_part(wanted.saturating_sub(1), 0);
        let range = KeyRange { from, to: keys.records_end(), limit: 1, keys_only: true };
        let entries = match self.connection.range(range) {
            Ok(entries) => entries,
            Err(error) => return error.into(),
        };
        let oldest_record = entries.first().and_then(|entry| keys.parse_record(&entry.key));
        let first = oldest_record.map_or_else(|| head.sequence.saturating_add(1), |(sequence, _)| sequence);
        match wanted.cmp(&first) {
            Ordering::Less => TailError::TooOld { wanted, first },
            // A late write of one part, after its record was deleted.
            Ordering::Equal => TailError::TooOld { wanted, first: first.saturating_add(1) },
            Ordering::Greater => {
                TailError::Damaged { sequence: wanted, reason: "one of its parts is missing".to_owned() }
            }
        }
    }
}

impl TailReader {
    /// Adds the next part, and decodes the record if it is complete.
    fn push(&mut self, part: &[u8], head: &QuorumHead) -> Result<(), TailError> {
        self.parts.extend_from_slice(part);
        self.next_part += 1;
        let sequence = self.next;
        let damaged = |reason| TailError::Damaged { sequence, reason };
        let of_record = |error: QuorumRecordError| damaged(error.to_string());
        if self.parts.len() < QuorumRecord::stated_length(&self.parts).map_err(of_record)? {
            return if self.next_part < MAX_PARTS {
                Ok(())
            } else {
                Err(damaged(format!("it has more than {MAX_PARTS} parts")))
            };
        }
        let record = QuorumRecord::decode(&self.parts).map_err(of_record)?;
        let link = &record.link;
        if link.sequence != sequence {
            return Err(damaged(format!("it has sequence number {}", link.sequence)));
        }
        if self.records.last().is_some_and(|before| before.link.hash != link.previous) {
            return Err(damaged("it does not follow the append before it".to_owned()));
        }
        if sequence == head.sequence && link.hash != head.hash {
            return Err(damaged(format!("its hash is {}, but the head has {}", link.hash, head.hash)));
        }
        self.bytes += self.parts.len();
        self.records.push(record);
        self.parts.clear();
        self.next = sequence.saturating_add(1);
        self.next_part = 0;
        Ok(())
    }
}

/// Returns the number of keys to read next, from the size of the keys read last.
fn next_limit(keys: usize, size: usize) -> u32 {
    let limit = READ_SIZE.saturating_mul(keys) / size.max(1);
    u32::try_from(limit.clamp(1, MAX_KEYS)).unwrap_or(FIRST_KEYS)
}
