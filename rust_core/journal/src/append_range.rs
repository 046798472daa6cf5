//! A range of a journal scan.

use std::ops::Range;

use crate::{
    error::JournalError,
    segment_scanner::{ScannedAppend, SegmentScanner},
};

/// The appends of a scan with these sequence numbers, in order. It ends after an error.
pub(crate) struct AppendRange {
    scanner: SegmentScanner,
    range: Range<u64>,
    ended: bool,
}

impl AppendRange {
    pub(crate) fn new(scanner: SegmentScanner, range: Range<u64>) -> Self {
        Self { scanner, ended: range.is_empty(), range }
    }

    /// Applies `read` to the next append and returns the result.
    pub(crate) fn next<T>(
        &mut self,
        read: impl FnOnce(&ScannedAppend<'_>) -> Result<T, JournalError>,
    ) -> Option<Result<T, JournalError>> {
        if self.ended {
            return None;
        }
        let next = self.find(read).transpose();
        // An append after the end of the range may be half written: it must not be read.
        self.ended = match &next {
            Some(Ok((sequence, _))) => sequence + 1 >= self.range.end,
            _ => true,
        };
        Some(next?.map(|(_, read)| read))
    }

    fn find<T>(
        &mut self,
        read: impl FnOnce(&ScannedAppend<'_>) -> Result<T, JournalError>,
    ) -> Result<Option<(u64, T)>, JournalError> {
        loop {
            let Some(append) = self.scanner.next()? else { return Ok(None) };
            let sequence = append.header.chain.sequence;
            if sequence >= self.range.end {
                return Ok(None);
            }
            if sequence >= self.range.start {
                return Ok(Some((sequence, read(&append)?)));
            }
        }
    }
}
