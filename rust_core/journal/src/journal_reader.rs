//! The appends that a journal held when it was opened.

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc};

use crate::{
    append_range::AppendRange,
    disk::Disk,
    error::JournalError,
    layout::Identity,
    record::{RecordSummary, summarize_records},
    replay::Append,
    segment_scanner::{ScannedAppend, SegmentScanner},
};

/// Reader of the appends that a journal held at its opening, at any later time. Segments may have been
/// removed since.
///
/// All appends are verified; only the requested ones are decoded.
///
/// # Errors
/// [`JournalError::Io`] also when a segment is removed while it is read.
#[derive(Clone)]
pub struct JournalReader {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) identity: Identity,
    /// Sequence number after the last append at opening.
    pub(crate) end: u64,
}

impl JournalReader {
    /// Creates a reader of the appends in `dir` with sequence numbers below `end`. They must exist and be
    /// durable.
    pub fn new(dir: PathBuf, disk: Arc<dyn Disk>, identity: Identity, end: u64) -> Self {
        Self { disk, dir, identity, end }
    }

    /// Returns a reader of the same journal up to append `end`, which must exist and be durable.
    #[must_use]
    pub fn up_to(&self, end: u64) -> Self {
        Self { end, ..self.clone() }
    }

    /// Passes the outlines of each append's records to `visit`, with the append's sequence number. Covers the
    /// oldest retained append to the one with number `last`.
    pub fn summaries(
        &self,
        last: u64,
        visit: &mut dyn FnMut(u64, Vec<RecordSummary>),
    ) -> Result<(), JournalError> {
        self.visit_appends(last, |append| {
            let outlines = append.read(summarize_records)?;
            visit(append.header.chain.sequence, outlines);
            Ok(())
        })
    }

    /// Passes the appends with these sequence numbers to `visit`, in order.
    pub fn read(&self, sequences: &BTreeSet<u64>, visit: &mut dyn FnMut(Append)) -> Result<(), JournalError> {
        let Some(&last) = sequences.last() else { return Ok(()) };
        self.visit_appends(last, |append| {
            let sequence = append.header.chain.sequence;
            if sequences.contains(&sequence) {
                visit(Append { sequence, records: append.decode()? });
            }
            Ok(())
        })
    }

    fn visit_appends(
        &self,
        last: u64,
        mut visit: impl FnMut(&ScannedAppend<'_>) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let scanner = SegmentScanner::new(self.disk.clone(), &self.dir, Some(self.identity))?;
        let mut appends = AppendRange::new(scanner, 0..self.end.min(last.saturating_add(1)));
        while let Some(visited) = appends.next(&mut visit) {
            visited?;
        }
        Ok(())
    }
}

impl fmt::Debug for JournalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalReader")
            .field("dir", &self.dir)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
