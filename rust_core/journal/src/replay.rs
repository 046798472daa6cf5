//! Reading the journal again.

use std::ops::Range;

use crate::{JournalError, Record, stretch::Stretch, walk::Walk};

/// One append, read back.
#[derive(Clone, Debug)]
pub struct Append {
    /// Its number, counted from 0 since the journal began.
    pub sequence: u64,
    pub records: Vec<Record>,
}

/// The appends of a journal in order, one in memory at a time. After an error it ends.
pub struct Replay(Stretch);

impl Replay {
    /// Those with these sequence numbers.
    pub(crate) fn new(walk: Walk, range: Range<u64>) -> Self {
        Self(Stretch::new(walk, range))
    }
}

impl Iterator for Replay {
    type Item = Result<Append, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|found| Ok(Append { sequence: found.header.chain.sequence, records: found.decode()? }))
    }
}
