//! Reading the journal again.

use std::{path::Path, sync::Arc};

use crate::{Identity, JournalError, Record, disk::Disk, record::decode_records, walk::Walk};

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
    /// Sequence number of the first append that is not read.
    end: u64,
    ended: bool,
}

impl Replay {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        dir: &Path,
        identity: Identity,
        end: u64,
    ) -> Result<Self, JournalError> {
        Ok(Self { walk: Walk::new(disk, dir, Some(identity))?, end, ended: end == 0 })
    }

    fn read(&mut self) -> Result<Option<Append>, JournalError> {
        let Some(found) = self.walk.next()? else { return Ok(None) };
        let (place, sequence) = (found.place, found.header.chain.sequence);
        if sequence >= self.end {
            return Ok(None);
        }
        let records = decode_records(found.records, found.header.records)
            .map_err(|(index, reason)| JournalError::Record { place, sequence, index, reason })?;
        Ok(Some(Append { sequence, records }))
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
            Some(Ok(append)) => append.sequence + 1 >= self.end,
            _ => true,
        };
        next
    }
}
