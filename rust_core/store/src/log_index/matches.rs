//! Search for the ordinals that match all criteria of a filter.

use std::ops::Range;

use foreseal_primitives::LogFilter;
use heed::RoTxn;

use super::{LogIndex, LogIndexError, criterion::criteria_of, union::Union};

/// Result of a search step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A log with this ordinal matches.
    Found(u64),
    /// The work limit is reached; the search can continue now, or later from [`Matches::position`].
    Paused,
    /// No further log matches.
    End,
}

/// A search through a range of ordinals, ascending.
pub struct Matches<'t> {
    index: LogIndex,
    /// Lists of the filter, the shortest first; empty if every log matches.
    lists: Vec<Union<'t>>,
    /// Remaining matches in the current chunk.
    chunk: ChunkMatches,
    /// Range in which the next chunk is searched.
    rest: Range<u64>,
    /// All matches below this ordinal have been returned.
    position: u64,
}

enum ChunkMatches {
    /// Every ordinal.
    All(Range<u64>),
    /// Low bits in the chunk that begins at this ordinal.
    Chunk(u64, roaring::bitmap::IntoIter),
}

impl ChunkMatches {
    fn next(&mut self) -> Option<u64> {
        match self {
            Self::All(range) => range.next(),
            Self::Chunk(start, lows) => lows.next().map(|low| *start + u64::from(low)),
        }
    }
}

impl LogIndex {
    /// Searches `range` for logs that match `filter`. `work` counts lookups and chunks read.
    pub fn search<'t>(
        &self,
        txn: &'t RoTxn<'t>,
        filter: &LogFilter,
        range: Range<u64>,
        work: &mut u64,
    ) -> Result<Matches<'t>, LogIndexError> {
        let mut criteria = criteria_of(filter);
        criteria.sort_by_key(Vec::len);
        let position = range.start;
        if criteria.is_empty() || range.is_empty() {
            let rest = range.end..range.end;
            return Ok(Matches {
                index: *self,
                lists: Vec::new(),
                chunk: ChunkMatches::All(range),
                rest,
                position,
            });
        }
        let chunks = (self.chunk(range.start), self.chunk(range.end - 1));
        let lists: Result<Vec<_>, _> =
            criteria.into_iter().map(|any| Union::new(*self, txn, any, chunks, work)).collect();
        Ok(Matches { index: *self, lists: lists?, chunk: ChunkMatches::All(0..0), rest: range, position })
    }
}

impl Matches<'_> {
    /// Returns the next match, or [`Next::Paused`] once `work` reaches `limit`.
    pub fn next_within(&mut self, work: &mut u64, limit: u64) -> Result<Next, LogIndexError> {
        loop {
            if let Some(ordinal) = self.chunk.next() {
                self.position = ordinal + 1;
                return Ok(Next::Found(ordinal));
            }
            self.position = self.rest.start;
            if self.rest.is_empty() {
                return Ok(Next::End);
            }
            if *work >= limit {
                return Ok(Next::Paused);
            }
            self.advance(work, limit)?;
        }
    }

    /// Returns the ordinal from which a new search can continue: all matches below it have been returned.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Advances to the next chunk that all lists have, intersects the lists there, and moves `rest` past it.
    fn advance(&mut self, work: &mut u64, limit: u64) -> Result<(), LogIndexError> {
        let mut target = self.index.chunk(self.rest.start);
        let mut agreed = 0;
        while agreed < self.lists.len() {
            let Some(number) = self.lists[agreed].seek(target, work)? else {
                self.rest.start = self.rest.end;
                return Ok(());
            };
            if number == target {
                agreed += 1;
                continue;
            }
            target = number;
            agreed = 0;
            self.rest.start = u64::from(target) << self.index.chunk_bits;
            if *work >= limit {
                return Ok(());
            }
        }
        self.intersect(target, work)
    }

    fn intersect(&mut self, number: u32, work: &mut u64) -> Result<(), LogIndexError> {
        let start = u64::from(number) << self.index.chunk_bits;
        let end = (start + self.index.chunk_size()).min(self.rest.end);
        let mut lists: Vec<_> = self.lists.iter().collect();
        lists.sort_by_key(|any| any.weight(number));
        let (rarest, others) = lists.split_first().expect("a search that leaps has lists");
        let mut matches = rarest.read(number, work)?;
        for any in others {
            if matches.is_empty() {
                break;
            }
            matches &= any.read(number, work)?;
        }
        let low = |ordinal: u64| u32::try_from(ordinal - start).expect("inside the chunk");
        let inside = low(self.rest.start.max(start))..low(end);
        self.chunk = ChunkMatches::Chunk(start, matches.into_range(inside));
        self.rest.start = end;
        Ok(())
    }
}
