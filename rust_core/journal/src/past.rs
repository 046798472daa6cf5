//! What a journal held when it was opened.

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc};

use crate::{
    Append, Disk, Identity, JournalError,
    record::{Outline, outline_records},
    stretch::Stretch,
    walk::{Found, Walk},
};

/// Reads what was in a journal at its opening, however long ago that is by now. Segments may have been removed since.
///
/// All appends are verified, and only what is wanted is decoded.
///
/// # Errors
/// [`JournalError::Io`] also when a segment is removed while it is read.
#[derive(Clone)]
pub struct Past {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) identity: Identity,
    /// Sequence number after the last append of then.
    pub(crate) end: u64,
}

impl Past {
    /// The appends of the journal in `dir` whose sequence numbers are below `end`, which are there and durable.
    pub fn new(dir: PathBuf, disk: Arc<dyn Disk>, identity: Identity, end: u64) -> Self {
        Self { disk, dir, identity, end }
    }

    /// The same journal up to another append, which is there and durable.
    #[must_use]
    pub fn until(&self, end: u64) -> Self {
        Self { end, ..self.clone() }
    }

    /// What the records of each append do, by its sequence number, from the oldest one that is kept up to the one with
    /// number `last`.
    pub fn outline(&self, last: u64, visit: &mut dyn FnMut(u64, Vec<Outline>)) -> Result<(), JournalError> {
        self.each(last, |found| {
            let outlines = found.read(outline_records)?;
            visit(found.header.chain.sequence, outlines);
            Ok(())
        })
    }

    /// The appends with these sequence numbers, in order.
    pub fn read(&self, sequences: &BTreeSet<u64>, visit: &mut dyn FnMut(Append)) -> Result<(), JournalError> {
        let Some(&last) = sequences.last() else { return Ok(()) };
        self.each(last, |found| {
            let sequence = found.header.chain.sequence;
            if sequences.contains(&sequence) {
                visit(Append { sequence, records: found.decode()? });
            }
            Ok(())
        })
    }

    fn each(
        &self,
        last: u64,
        mut visit: impl FnMut(&Found<'_>) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let walk = Walk::new(self.disk.clone(), &self.dir, Some(self.identity))?;
        let mut stretch = Stretch::new(walk, 0..self.end.min(last.saturating_add(1)));
        while let Some(visited) = stretch.next(&mut visit) {
            visited?;
        }
        Ok(())
    }
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").field("dir", &self.dir).field("end", &self.end).finish_non_exhaustive()
    }
}
