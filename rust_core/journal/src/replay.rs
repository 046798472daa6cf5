//! Replay of the journal.

use std::ops::Range;

use crate::{
    append_range::AppendRange, error::JournalError, record::Record, segment_scanner::SegmentScanner,
};

/// One append that was read from the journal.
#[derive(Clone, Debug)]
pub struct Append {
    /// Sequence number of the append, counted from 0 since the journal began.
    pub sequence: u64,
    pub records: Vec<Record>,
}

/// Iterator over the appends of a journal in order, one in memory at a time. It ends after an error.
pub struct AppendReplay(AppendRange);

impl AppendReplay {
    /// Creates an iterator over the appends with these sequence numbers.
    pub(crate) fn new(walk: SegmentScanner, range: Range<u64>) -> Self {
        Self(AppendRange::new(walk, range))
    }
}

impl Iterator for AppendReplay {
    type Item = Result<Append, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|append| Ok(Append { sequence: append.header.chain.sequence, records: append.decode()? }))
    }
}
