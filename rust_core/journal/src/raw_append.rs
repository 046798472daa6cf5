//! Encoded appends, for components that pass them on.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

use crate::{
    append_range::AppendRange,
    error::JournalError,
    journal_reader::JournalReader,
    layout::SegmentSector,
    record::{Record, decode_records, encode_records},
    replay::Append,
    segment::SegmentFile,
    segment_scanner::{SegmentScanner, segment_numbers},
};

/// An append as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RawAppend {
    /// Sequence number of the append, counted from 0 since the journal began.
    pub sequence: u64,
    /// Hash of the content ([`Self::content_hash`]), equal in every journal that has this append.
    pub hash: B256,
    /// Number of records.
    pub count: u32,
    #[serde(with = "serde_bytes")]
    pub records: Vec<u8>,
}

/// An append whose bytes do not decode to records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {index} of append {sequence} cannot be read: {reason}")]
pub struct RecordDecodeError {
    pub sequence: u64,
    pub index: usize,
    pub reason: String,
}

impl RawAppend {
    /// Returns the append with these encoded records and their hash.
    pub fn new(sequence: u64, count: u32, records: Vec<u8>) -> Self {
        Self { sequence, hash: Self::content_hash(sequence, count, &records), count, records }
    }

    /// Returns the hash of an append's content. It depends on no secret of a journal, so a cursor that names it
    /// is valid at every process that has the append.
    pub fn content_hash(sequence: u64, count: u32, records: &[u8]) -> B256 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&sequence.to_le_bytes());
        hasher.update(&count.to_le_bytes());
        hasher.update(records);
        B256::new(*hasher.finalize().as_bytes())
    }

    /// Returns `true` if the hash is that of the content.
    pub fn is_consistent(&self) -> bool {
        self.hash == Self::content_hash(self.sequence, self.count, &self.records)
    }

    /// Encodes the append with this number as the journal would write it.
    pub fn encode(sequence: u64, records: &[Record]) -> Self {
        let mut bytes = Vec::new();
        encode_records(records, &mut bytes);
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        Self::new(sequence, count, bytes)
    }

    /// Decodes the records.
    pub fn decode(&self) -> Result<Append, RecordDecodeError> {
        let Self { sequence, count, ref records, .. } = *self;
        let records: Result<Vec<Record>, _> = decode_records(records, count);
        let records = records.map_err(|(index, reason)| RecordDecodeError { sequence, index, reason })?;
        Ok(Append { sequence, records })
    }
}

/// Iterator over the encoded appends of a journal in order, one in memory at a time. It ends after an error.
pub struct RawAppends(AppendRange);

impl JournalReader {
    /// Returns the encoded appends from this sequence number on, or from the oldest retained append. Only the
    /// first sectors of older segments are read.
    pub fn raw_appends(&self, from: u64) -> Result<RawAppends, JournalError> {
        let mut scanner = SegmentScanner::new(self.disk.clone(), &self.dir, Some(self.identity))?;
        if let Some(number) = self.find_segment(from)? {
            scanner = scanner.starting_at(number);
        }
        Ok(RawAppends(AppendRange::new(scanner, from..self.end)))
    }

    /// Returns the number of the newest segment that begins at or before `sequence`.
    fn find_segment(&self, sequence: u64) -> Result<Option<u64>, JournalError> {
        for number in segment_numbers(&*self.disk, &self.dir)?.into_iter().rev() {
            // A segment that is being created has no header yet.
            if let SegmentSector::Valid(header) =
                SegmentFile::open(&*self.disk, &self.dir, number)?.header()?
                && header.chain.sequence <= sequence
            {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }
}

impl Iterator for RawAppends {
    type Item = Result<RawAppend, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|append| {
            let (sequence, count) = (append.header.chain.sequence, append.header.records);
            Ok(RawAppend::new(sequence, count, append.records.to_vec()))
        })
    }
}
