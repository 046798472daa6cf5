//! Appends as their bytes, for those who pass them on.

use alloy_primitives::B256;

use crate::{
    Append, JournalError, Past, Record,
    layout::SegmentSector,
    record::{decode_records, encode_records},
    segment::SegmentFile,
    stretch::Stretch,
    walk::{Walk, segment_numbers},
};

/// An append as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Its number, counted from 0 since the journal began.
    pub sequence: u64,
    /// What names it: two journals that have it in common are the same up to it.
    pub hash: B256,
    /// How many records.
    pub count: u32,
    pub records: Vec<u8>,
}

/// An append whose bytes are not those of records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {index} of append {sequence} cannot be read: {reason}")]
pub struct NotRecords {
    pub sequence: u64,
    pub index: usize,
    pub reason: String,
}

impl Whole {
    /// As the append with this number would be written.
    pub fn of(sequence: u64, hash: B256, records: &[Record]) -> Self {
        let mut bytes = Vec::new();
        encode_records(records, &mut bytes);
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        Self { sequence, hash, count, records: bytes }
    }

    /// Reads its records.
    pub fn decode(&self) -> Result<Append, NotRecords> {
        let Self { sequence, count, ref records, .. } = *self;
        let records: Result<Vec<Record>, _> = decode_records(records, count);
        let records = records.map_err(|(index, reason)| NotRecords { sequence, index, reason })?;
        Ok(Append { sequence, records })
    }
}

/// The appends of a journal in order, as their bytes, one in memory at a time. After an error it ends.
pub struct Wholes(Stretch);

impl Past {
    /// The appends from the one with this sequence number on, or from the oldest one that is kept. Older segments are not
    /// read, but for their first sectors.
    pub fn wholes(&self, from: u64) -> Result<Wholes, JournalError> {
        let mut walk = Walk::new(self.disk.clone(), &self.dir, Some(self.identity))?;
        if let Some(number) = self.segment_of(from)? {
            walk = walk.starting_at(number);
        }
        Ok(Wholes(Stretch::new(walk, from..self.end)))
    }

    /// Number of the newest segment that begins at `sequence` or before it.
    fn segment_of(&self, sequence: u64) -> Result<Option<u64>, JournalError> {
        for number in segment_numbers(&*self.disk, &self.dir)?.into_iter().rev() {
            // One that is being created has no header yet.
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

impl Iterator for Wholes {
    type Item = Result<Whole, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|found| {
            let (sequence, hash) = (found.header.chain.sequence, found.header.hash);
            Ok(Whole { sequence, hash, count: found.header.records, records: found.records.to_vec() })
        })
    }
}
