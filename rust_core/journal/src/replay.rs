//! Reading the journal again.

use std::ops::Range;

use crate::{JournalError, Record, record::decode_records, walk::Walk};

/// One append, read back.
#[derive(Clone, Debug)]
pub struct Append {
    /// Its number, counted from 0 since the journal began.
    pub sequence: u64,
    pub records: Vec<Record>,
}

/// The appends of a journal in order, one in memory at a time. After an error it ends.
pub struct Replay {
    walk: Walk,
    /// Sequence numbers of the appends that are answered.
    range: Range<u64>,
    ended: bool,
}

impl Replay {
    pub(crate) fn new(walk: Walk, range: Range<u64>) -> Self {
        Self { walk, ended: range.is_empty(), range }
    }

    fn read(&mut self) -> Result<Option<Append>, JournalError> {
        loop {
            let Some(found) = self.walk.next()? else { return Ok(None) };
            let (place, sequence) = (found.place, found.header.chain.sequence);
            if sequence >= self.range.end {
                return Ok(None);
            }
            if sequence >= self.range.start {
                let records = decode_records(found.records, found.header.records)
                    .map_err(|(index, reason)| JournalError::Record { place, sequence, index, reason })?;
                return Ok(Some(Append { sequence, records }));
            }
        }
    }
}

impl Iterator for Replay {
    type Item = Result<Append, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        // What comes after the end may be half written by now: it must not even be looked at.
        self.ended = match &next {
            Some(Ok(append)) => append.sequence + 1 >= self.range.end,
            _ => true,
        };
        next
    }
}
